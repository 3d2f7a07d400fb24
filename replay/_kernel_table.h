/* How does Python hold a table of a RowCache? The type RowTable around _kernel_rows.h. */

static int reserve_misses(Table *t, u64 longest)
{
    if (longest <= t->missed_room)
        return 1;
    free(t->missed);
    t->missed_room = 0;
    t->missed = zeroed(longest, sizeof *t->missed);
    t->missed_room = t->missed ? longest : 0;
    return t->missed != NULL;
}

static PyObject *table_replay(PyObject *self, PyObject *args)
{
    Table *t = (Table *)self;
    PyObject *rows_arg, *offsets_arg, *counts_arg;
    u64 count, bounds, room, longest, *rows, *offsets, *counts;
    Arrays arrays = {.held = 0};
    if (!PyArg_ParseTuple(args, "OOO", &rows_arg, &offsets_arg, &counts_arg))
        return NULL;
    int sound = (rows = items(&arrays, rows_arg, "rows", 0, &count)) &&
                (offsets = items(&arrays, offsets_arg, "offsets", 0, &bounds)) &&
                (counts = items(&arrays, counts_arg, "counts", 1, &room)) &&
                (longest = longest_group(offsets, bounds, count)) != UINT64_MAX &&
                require(room == (bounds - 1) * COLUMNS, "counts is not 9 numbers a gather") &&
                require(!t->unusable, "the table is in use, or was interrupted half-way") &&
                reserve_misses(t, longest) && replay(t, rows, offsets, bounds - 1, counts);
    release(&arrays);
    return sound ? Py_NewRef(Py_None) : NULL;
}

static PyObject *table_read_slots(PyObject *self, PyObject *args)
{
    Table *t = (Table *)self;
    PyObject *rows_arg, *ages_arg;
    u64 slots = t->sets * t->ways, rows_room, ages_room, *rows, *ages;
    Arrays arrays = {.held = 0};
    if (!PyArg_ParseTuple(args, "OO", &rows_arg, &ages_arg))
        return NULL;
    int sound = (rows = items(&arrays, rows_arg, "rows", 1, &rows_room)) &&
                (ages = items(&arrays, ages_arg, "ages", 1, &ages_room)) &&
                require(rows_room == slots && ages_room == slots, "not one item a slot") &&
                require(!t->unusable, "the table is in use, or was interrupted half-way");
    for (u64 i = 0; sound && i < slots; i++) {
        rows[i] = set_of(t, i / t->ways)[i % t->ways];
        ages[i] = set_of(t, i / t->ways)[i % t->ways + t->ways];
    }
    release(&arrays);
    return sound ? Py_NewRef(Py_None) : NULL;
}

static int table_allocate(Table *t)
{
    const char *limits = "expected 1 or more ways, 1 or 2 candidate sets, 1 to 2^28 sketch cells";
    u64 most = (SIZE_MAX - 64) / 16, cells = (u64)1 << 28;
    int sound = t->ways && (t->candidate_sets == 1 || t->candidate_sets == 2) &&
                t->sketch_rows && t->sketch_rows <= cells &&
                t->sketch_width && t->sketch_width <= cells / t->sketch_rows;
    if (!require(sound, limits))
        return 0;
    if (t->ways > most || t->sets > most / t->ways) {
        PyErr_NoMemory();
        return 0;
    }
    t->slots_memory = zeroed(t->sets * t->ways * 16 + 64, 1);
    t->cells = zeroed(t->sketch_rows * t->sketch_width, 1);
    t->slots = (u64 *)(((uintptr_t)t->slots_memory + 63) & ~(uintptr_t)63);
    return t->slots_memory && t->cells;
}

static PyObject *table_new(PyTypeObject *type, PyObject *args, PyObject *named)
{
    static char *names[] = {"sets", "ways", "candidate_sets", "sketch_rows", "sketch_width",
        "halve_every", "hash_seed", "admission", "second_set_tie_second", "halve_after_gather",
        "tick_per_gather", "age_of_insert", "free_way_highest", "victim_tie_highest", NULL};
    allocfunc allocate = (allocfunc)PyType_GetSlot(type, Py_tp_alloc);
    Table *t = (Table *)allocate(type, 0);
    u64 seed = 0;
    if (!t)
        return NULL;
    int sound = PyArg_ParseTupleAndKeywords(args, named, "O&O&O&O&O&O&O&ppppppp", names,
        as_u64, &t->sets, as_u64, &t->ways, as_u64, &t->candidate_sets, as_u64, &t->sketch_rows,
        as_u64, &t->sketch_width, as_u64, &t->halve_every, as_u64, &seed, &t->admission,
        &t->second_set_tie_second, &t->halve_after_gather, &t->tick_per_gather, &t->age_of_insert,
        &t->free_way_highest, &t->victim_tie_highest);
    t->flip = xxh3_flip(seed);
    if (sound && table_allocate(t))
        return (PyObject *)t;
    Py_DecRef((PyObject *)t);
    return NULL;
}

static void table_dealloc(PyObject *self)
{
    Table *t = (Table *)self;
    PyTypeObject *type = Py_TYPE(self);
    free(t->slots_memory);
    free(t->cells);
    free(t->missed);
    ((freefunc)PyType_GetSlot(type, Py_tp_free))(self);
    Py_DecRef((PyObject *)type);
}

static PyMethodDef table_methods[] = {
    {"replay", table_replay, METH_VARARGS, "Run gathers of distinct rows; see _kernel.pyi."},
    {"read_slots", table_read_slots, METH_VARARGS, "What the slots hold; see _kernel.pyi."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot table_slots[] = {
    {Py_tp_new, table_new},
    {Py_tp_dealloc, table_dealloc},
    {Py_tp_methods, table_methods},
    {Py_tp_doc, "One table of a RowCache; see _kernel.pyi."},
    {0, NULL},
};

static PyType_Spec table_spec = {
    .name = "replay._kernel.RowTable",
    .basicsize = sizeof(Table),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = table_slots,
};
