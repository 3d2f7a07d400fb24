"""Programs in bulk: every small one (`cachegate exhaust`), or as many as time allows (`cachegate storm`)."""
