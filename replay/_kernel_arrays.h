/* How do arrays come into the kernel, and what is refused before a bound could be passed?
 *
 * Through the buffer protocol: contiguous, aligned, native 64-bit integers. Whatever is wrong with
 * one is a ValueError before anything has been written.
 */
#include <Python.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef uint64_t u64;

enum { WORK = 1 << 20 }; /* items between two looks at Ctrl-C */

typedef struct {
    Py_buffer view[6];
    int held;
} Arrays;

static void release(Arrays *arrays)
{
    while (arrays->held)
        PyBuffer_Release(&arrays->view[--arrays->held]);
}

static int overlaps(const Py_buffer *a, const Py_buffer *b)
{
    uintptr_t at = (uintptr_t)a->buf, bt = (uintptr_t)b->buf;
    return a->len && b->len && at < bt + (size_t)b->len && bt < at + (size_t)a->len;
}

/* What is wrong with the newest buffer, or NULL. Bounds are checked once, so no output may overlap
 * an input and change it behind the check. */
static const char *fault(const Arrays *arrays, int writable)
{
    const Py_buffer *view = &arrays->view[arrays->held - 1];
    const char *format = view->format ? view->format : "B";
    if (*format == '@' || *format == '=')
        format++;
    if (view->itemsize != 8 || strlen(format) != 1 || !strchr("lqLQ", *format))
        return "is not an array of native 64-bit integers";
    if (view->len && (uintptr_t)view->buf % 8)
        return "is not aligned to 8 bytes";
    for (int other = 0; writable && other < arrays->held - 1; other++)
        if (overlaps(view, &arrays->view[other]))
            return "overlaps another argument";
    return NULL;
}

/* The items of `object` and how many there are; outputs are to be asked for after all inputs. */
static u64 *items(Arrays *arrays, PyObject *object, const char *name, int writable, u64 *length)
{
    Py_buffer *view = &arrays->view[arrays->held];
    int flags = PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0);
    if (PyObject_GetBuffer(object, view, flags) < 0)
        return NULL;
    arrays->held++;
    const char *wrong = fault(arrays, writable);
    if (wrong) {
        PyErr_Format(PyExc_ValueError, "%s %s", name, wrong);
        return NULL;
    }
    *length = (u64)view->len / 8;
    return view->buf;
}

static int require(int holds, const char *expected)
{
    if (!holds)
        PyErr_SetString(PyExc_ValueError, expected);
    return holds;
}

/* Group i is [offsets[i], offsets[i + 1]); the longest group, or UINT64_MAX and an exception. */
static u64 longest_group(const u64 *offsets, u64 count, u64 end)
{
    u64 longest = 0;
    int sound = count >= 1 && offsets[0] == 0 && offsets[count - 1] == end;
    for (u64 i = 1; sound && i < count; i++) {
        sound = offsets[i - 1] <= offsets[i] && offsets[i] <= end;
        if (sound && offsets[i] - offsets[i - 1] > longest)
            longest = offsets[i] - offsets[i - 1];
    }
    require(sound, "offsets do not ascend from 0 to the number of items");
    return sound ? longest : UINT64_MAX;
}

/* calloc refuses a product that overflows, and leaves untouched memory to the system. */
static void *zeroed(u64 count, u64 size)
{
    void *memory = count > SIZE_MAX ? NULL : calloc(count ? (size_t)count : 1, (size_t)size);
    if (!memory)
        PyErr_NoMemory();
    return memory;
}

/* Between two stretches of work without the interpreter: has the user asked to stop? */
static int interrupted(PyThreadState **released)
{
    PyEval_RestoreThread(*released);
    int stop = PyErr_CheckSignals() < 0;
    *released = PyEval_SaveThread();
    return stop;
}

static int as_u64(PyObject *object, void *result)
{
    *(u64 *)result = PyLong_AsUnsignedLongLong(object);
    if (!PyErr_Occurred())
        return 1;
    if (PyErr_ExceptionMatches(PyExc_OverflowError))
        PyErr_SetString(PyExc_ValueError, "expected a number from 0 to 2^64-1");
    return 0;
}
