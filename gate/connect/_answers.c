/* Is one line of a driver an answer, and which? The hot path of every run, for those who have a compiler.
 *
 * Optional: gate/connect/wire.py reads every line itself where this is not built, and whenever this gives
 * None, which it does for all that is not plainly an answer: errors are named there alone. A property
 * holds the two equal. The stable ABI of Python 3.11.
 */
#define PY_SSIZE_T_CLEAN
#define Py_LIMITED_API 0x030B0000
#include <Python.h>

typedef unsigned long long u64;

enum { MAX_DIGITS = 18 }; /* whatever is longer may not fit: the slow path decides */

typedef struct {
    const char *at, *end;
    int strange; /* something that the slow path has to look at */
} Line;

/* The cell `-`: nothing. */
static int nothing(Line *line)
{
    if (line->at == line->end || *line->at != '-')
        return 0;
    if (line->at + 1 != line->end && line->at[1] != ' ')
        return 0;
    line->at++;
    return 1;
}

static u64 digits(Line *line)
{
    const char *from = line->at;
    u64 value = 0;
    while (line->at != line->end && *line->at >= '0' && *line->at <= '9' && line->at - from < MAX_DIGITS)
        value = value * 10 + (u64)(*line->at++ - '0');
    if (line->at == from)
        line->strange = 1;
    return value;
}

/* One separator, or the end of the line where `last` is set. */
static void gap(Line *line, int last)
{
    if (last ? line->at != line->end : line->at == line->end || *line->at++ != ' ')
        line->strange = 1;
}

static PyObject *none(void) { return Py_NewRef(Py_None); }

static PyObject *read_refusal(Line *line)
{
    const char *from = line->at;
    if (nothing(line))
        return PyUnicode_FromStringAndSize("", 0);
    while (line->at != line->end && *line->at != ' ')
        line->at++;
    if (line->at == from)
        line->strange = 1;
    return PyUnicode_FromStringAndSize(from, line->at - from);
}

static PyObject *read_flags(Line *line)
{
    const char *from = line->at;
    if (nothing(line))
        return none();
    while (line->at != line->end && (*line->at == '0' || *line->at == '1'))
        line->at++;
    if (line->at == from)
        line->strange = 1;
    PyObject *flags = PyTuple_New(line->at - from);
    for (Py_ssize_t i = 0; flags && i < line->at - from; i++)
        PyTuple_SetItem(flags, i, PyBool_FromLong(from[i] == '1'));
    return flags;
}

static PyObject *read_size(Line *line)
{
    return nothing(line) ? none() : PyLong_FromUnsignedLongLong(digits(line));
}

static PyObject *read_digest(Line *line)
{
    if (nothing(line))
        return none();
    u64 value = 0;
    const char *from = line->at;
    for (; line->at != line->end && *line->at != ' ' && line->at - from < 17; line->at++) {
        const char c = *line->at;
        if (c >= '0' && c <= '9')
            value = value << 4 | (u64)(c - '0');
        else if (c >= 'a' && c <= 'f')
            value = value << 4 | (u64)(c - 'a' + 10);
        else
            line->strange = 1;
    }
    if (line->at - from != 16)
        line->strange = 1;
    return PyLong_FromUnsignedLongLong(value);
}

static PyObject *read_entry(Line *line)
{
    PyObject *first = PyLong_FromUnsignedLongLong(digits(line));
    if (line->at == line->end || *line->at++ != ':')
        line->strange = 1;
    PyObject *second = line->strange ? none() : PyLong_FromUnsignedLongLong(digits(line));
    PyObject *entry = first && second ? PyTuple_Pack(2, first, second) : NULL;
    Py_XDECREF(first);
    Py_XDECREF(second);
    return entry;
}

/* Entries, comma between. */
static PyObject *read_entries(Line *line)
{
    Py_ssize_t size = 1;
    if (nothing(line))
        return PyTuple_New(0);
    for (const char *c = line->at; c != line->end && *c != ' '; c++)
        size += *c == ',';
    PyObject *list = PyTuple_New(size);
    for (Py_ssize_t i = 0; list && i < size; i++) {
        PyObject *item = line->strange ? none() : read_entry(line);
        if (!item || PyTuple_SetItem(list, i, item) < 0) {
            Py_DECREF(list);
            return NULL;
        }
        if (i + 1 < size && (line->at == line->end || *line->at++ != ','))
            line->strange = 1;
    }
    return list;
}

static PyObject *read_counters(Line *line, PyObject *names)
{
    PyObject *counters = PyDict_New();
    const Py_ssize_t size = PyTuple_Size(names);
    for (Py_ssize_t i = 0; counters && i < size && !line->strange; i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(digits(line));
        gap(line, i + 1 == size);
        if (!value || PyDict_SetItem(counters, PyTuple_GetItem(names, i), value) < 0)
            Py_CLEAR(counters);
        Py_XDECREF(value);
    }
    return counters;
}

/* The fields of reference.program.Answer; gate/connect/wire.py checks that it has these and no others. */
enum { COUNTERS, REFUSAL, HITS, READ_BYTES, DIGEST, RESIDENT, ORDER, ESTIMATES, FIELDS };
static const char *const NAMES[FIELDS] = {"counters", "refusal",  "hits",  "read_bytes",
                                          "digest",   "resident", "order", "estimates"};
static PyObject *names[FIELDS];

/* What a letter of the layout stands for, in the order of the columns. */
static PyObject *read_column(Line *line, char letter, int *field)
{
    switch (letter) {
    case 'f': return *field = REFUSAL, read_refusal(line);
    case 'h': return *field = HITS, read_flags(line);
    case 'b': return *field = READ_BYTES, read_size(line);
    case 'd': return *field = DIGEST, read_digest(line);
    case 's': return *field = RESIDENT, read_entries(line);
    case 'o': return *field = ORDER, read_entries(line);
    default: PyErr_SetString(PyExc_ValueError, "a layout is made of f, h, b, d, s and o"); return NULL;
    }
}

/* The residents as a set: those given, else those of the order; an entry given twice is strange. */
static int gather_residents(PyObject **values, Line *line)
{
    PyObject *given = values[RESIDENT] ? values[RESIDENT] : values[ORDER];
    if (!given)
        return 0;
    PyObject *set = PyFrozenSet_New(given);
    if (!set)
        return -1;
    if (PySet_Size(set) != PyTuple_Size(given))
        line->strange = 1;
    Py_XDECREF(values[RESIDENT]);
    values[RESIDENT] = set;
    return 0;
}

static int read_values(Line *line, const char *layout, PyObject *counter_names, PyObject **values)
{
    for (; *layout && !line->strange; layout++) {
        int field = 0;
        PyObject *value = read_column(line, *layout, &field);
        if (!value)
            return -1;
        values[field] = value;
        gap(line, 0);
    }
    if (values[HITS] == Py_None && PyUnicode_GetLength(values[REFUSAL]) == 0)
        line->strange = 1; /* none, or nothing: that depends on the operation */
    if (!line->strange && !(values[COUNTERS] = read_counters(line, counter_names)))
        return -1;
    return line->strange ? 0 : gather_residents(values, line);
}

static PyObject *made(PyObject *type, PyObject **values)
{
    /* Past __init__ and the refusal of a frozen class to be written to. */
    PyObject *answer = PyType_GenericAlloc((PyTypeObject *)type, 0);
    for (int field = 0; answer && field < FIELDS; field++) {
        PyObject *value = values[field] ? values[field] : Py_None;
        if (PyObject_GenericSetAttr(answer, names[field], value) < 0)
            Py_CLEAR(answer);
    }
    return answer;
}

static PyObject *answers_read(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 4 || !PyType_Check(args[1]) || !PyTuple_Check(args[3])) {
        PyErr_SetString(PyExc_TypeError, "expected a line, a class, a layout and the counters' names");
        return NULL;
    }
    Py_ssize_t size;
    const char *text = PyUnicode_AsUTF8AndSize(args[0], &size);
    const char *layout = text ? PyUnicode_AsUTF8AndSize(args[2], NULL) : NULL;
    if (!layout)
        return NULL;
    Line line = {text, text + size, 0};
    PyObject *values[FIELDS] = {NULL}, *answer = NULL;
    if (read_values(&line, layout, args[3], values) == 0) {
        if (!values[REFUSAL])
            values[REFUSAL] = PyUnicode_FromStringAndSize("", 0);
        answer = line.strange ? none() : made(args[1], values);
    }
    for (int field = 0; field < FIELDS; field++)
        Py_XDECREF(values[field]);
    return answer;
}

static PyMethodDef methods[] = {
    {"read", (PyCFunction)(void (*)(void))answers_read, METH_FASTCALL, "One line; see _answers.pyi."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gate.connect._answers",
    .m_doc = "Reads a driver's answers; see _answers.pyi.",
    .m_size = -1,
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit__answers(void)
{
    for (int field = 0; field < FIELDS; field++)
        if (!names[field] && !(names[field] = PyUnicode_InternFromString(NAMES[field])))
            return NULL;
    return PyModule_Create(&definition);
}
