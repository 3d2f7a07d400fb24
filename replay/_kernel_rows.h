/* How does one RowCache table treat a gather? reference/row_table.py with placement and sketch.
 *
 * Read-ahead, pins and injected placement are not here; replay/rows.py says who runs them.
 */
#if defined(__GNUC__) || defined(__clang__)
#define PREFETCH(address) __builtin_prefetch(address, 1)
/* Prefetching changes nothing that C knows of: a call that does only that is optimised away. */
#define ALWAYS_INLINE __attribute__((always_inline)) inline
#else
#define PREFETCH(address) ((void)(address))
#define ALWAYS_INLINE inline
#endif

/* What is counted a gather, in the order of replay/rows.py. */
enum { HITS, MISSES, ADDED, EVICTIONS, REFUSALS, HALVINGS,
       SETS_FILLED, SECOND_PROBES, ESTIMATES_READ, COLUMNS };
enum { BLOCK = 32 };

typedef struct {
    u64 hash, first, second; /* second == first where there is no other candidate set */
} Place;

typedef struct {
    Place place;
    u64 row, tick;
} Miss;

typedef struct {
    PyObject_HEAD
    u64 sets, ways, candidate_sets, sketch_rows, sketch_width, halve_every;
    int admission, second_set_tie_second, halve_after_gather, tick_per_gather, age_of_insert,
        free_way_highest, victim_tie_highest;
    u64 flip, clock, samples;
    /* A set is its ways' row ids, then their last accesses: at 4 ways one cache line. Access 0 is
     * a free way: the clock has ticked before anything is inserted, and nothing is ever removed. */
    u64 *slots;
    void *slots_memory;
    uint8_t *cells;
    Miss *missed;
    u64 missed_room;
    int unusable; /* running in another thread, or stopped half-way */
} Table;

static inline u64 *set_of(const Table *t, u64 set)
{
    return t->slots + set * 2 * t->ways;
}

/* A true modulo; powers of two, the usual sketch width, do without the division. */
static inline u64 reduce(u64 hash, u64 count)
{
    return count & (count - 1) ? hash % count : hash & (count - 1);
}

static inline Place place_of(const Table *t, u64 row)
{
    Place place = {.hash = xxh3_64(row, t->flip)};
    place.first = place.second = reduce(place.hash, t->sets);
    if (t->candidate_sets == 2)
        place.second = reduce(mix(place.hash ^ 0xA0761D6478BD642Fu), t->sets);
    return place;
}

static inline uint8_t *cell(const Table *t, u64 hash, u64 array)
{
    u64 column = reduce(mix(hash ^ (array + 1) * 0x9E3779B97F4A7C15u), t->sketch_width);
    return t->cells + array * t->sketch_width + column;
}

static void halve_if_due(Table *t, u64 *counts)
{
    if (!t->halve_every || t->samples < t->halve_every)
        return;
    for (u64 i = 0; i < t->sketch_rows * t->sketch_width; i++)
        t->cells[i] >>= 1;
    t->samples = 0;
    counts[HALVINGS]++;
}

static inline void count_use(Table *t, u64 hash, u64 *counts)
{
    u64 arrays = t->admission ? t->sketch_rows : 0; /* without admission no estimate is ever read */
    for (u64 array = 0; array < arrays; array++) {
        uint8_t *counter = cell(t, hash, array);
        *counter += *counter != 255;
    }
    t->samples++;
    if (!t->halve_after_gather)
        halve_if_due(t, counts);
}

static u64 estimate(const Table *t, u64 hash)
{
    u64 lowest = 255;
    for (u64 array = 0; array < t->sketch_rows; array++) {
        u64 counter = *cell(t, hash, array);
        lowest = counter < lowest ? counter : lowest;
    }
    return lowest;
}

/* The last access of `row` in a set, or NULL. */
static inline u64 *find(const Table *t, u64 set, u64 row)
{
    u64 *rows = set_of(t, set), *ages = rows + t->ways;
    for (u64 way = 0; way < t->ways; way++)
        if (rows[way] == row && ages[way])
            return &ages[way];
    return NULL;
}

static inline int look_up(Table *t, u64 row, const Place *place, u64 *counts)
{
    u64 *age = find(t, place->first, row);
    if (!age && place->second != place->first) {
        counts[SECOND_PROBES]++;
        age = find(t, place->second, row);
    }
    counts[age ? HITS : MISSES]++;
    if (age)
        *age = t->clock;
    return age != NULL;
}

/* How many ways of a set are free, and which of them is to be filled. */
static u64 free_ways(const Table *t, u64 set, u64 **slot)
{
    u64 *rows = set_of(t, set), *ages = rows + t->ways, count = 0;
    for (u64 way = 0; way < t->ways; way++)
        if (!ages[way] && (!count++ || t->free_way_highest))
            *slot = &rows[way];
    return count;
}

static u64 *free_slot(const Table *t, const Place *place, u64 *counts)
{
    u64 *slot = NULL, *other = NULL, room = free_ways(t, place->first, &slot);
    if (place->second != place->first) {
        u64 more = free_ways(t, place->second, &other);
        if (more > room || (more == room && t->second_set_tie_second)) {
            slot = other;
            room = more;
        }
    }
    counts[SETS_FILLED] += room == 1;
    return slot;
}

/* The lowest (estimate, last access) in one number: 8 bits above a clock that stays below 2^56. */
static u64 *victim(const Table *t, const Place *place, u64 *rank, u64 *counts)
{
    u64 *leaves = NULL, sets[2] = {place->first, place->second};
    for (int i = 0; i <= (sets[0] != sets[1]); i++) {
        u64 *rows = set_of(t, sets[i]), *ages = rows + t->ways;
        counts[ESTIMATES_READ] += t->admission ? t->ways : 0;
        for (u64 way = 0; way < t->ways; way++) {
            u64 usage = t->admission ? estimate(t, xxh3_64(rows[way], t->flip)) : 0;
            u64 own = usage << 56 | ages[way];
            if (!leaves || own < *rank || (own == *rank && t->victim_tie_highest)) {
                leaves = &rows[way];
                *rank = own;
            }
        }
    }
    return leaves;
}

static void insert(Table *t, const Miss *miss, u64 *counts)
{
    u64 rank = 0, *slot = free_slot(t, &miss->place, counts);
    int outcome = ADDED;
    if (!slot) {
        slot = victim(t, &miss->place, &rank, counts);
        counts[ESTIMATES_READ] += t->admission != 0;
        outcome = t->admission && estimate(t, miss->place.hash) < rank >> 56 ? REFUSALS : EVICTIONS;
    }
    counts[outcome]++;
    if (t->age_of_insert)
        t->clock++;
    if (outcome != REFUSALS) {
        slot[0] = miss->row;
        slot[t->ways] = t->age_of_insert ? t->clock : miss->tick;
    }
}

static ALWAYS_INLINE void prefetch(const Table *t, const Place *place)
{
    for (u64 item = 0; item < 2 * t->ways && item < 32; item += 8) {
        PREFETCH(set_of(t, place->first) + item);
        if (place->second != place->first)
            PREFETCH(set_of(t, place->second) + item);
    }
}

/* Both phases of one gather of distinct rows. */
static void gather(Table *t, const u64 *rows, u64 count, u64 *counts)
{
    u64 missed = 0;
    Place places[BLOCK];
    t->clock += t->tick_per_gather;
    for (u64 i = 0, ahead = 0; i < count; i++) {
        for (; ahead < count && ahead < i + BLOCK; ahead++) {
            places[ahead % BLOCK] = place_of(t, rows[ahead]);
            prefetch(t, &places[ahead % BLOCK]);
        }
        const Place *place = &places[i % BLOCK];
        t->clock += !t->tick_per_gather;
        count_use(t, place->hash, counts);
        if (!look_up(t, rows[i], place, counts))
            t->missed[missed++] = (Miss){*place, rows[i], t->clock};
    }
    for (u64 i = 0; i < missed; i++) {
        if (i + 8 < missed)
            prefetch(t, &t->missed[i + 8].place);
        insert(t, &t->missed[i], counts);
    }
    if (t->halve_after_gather)
        halve_if_due(t, counts);
}

/* Without a set everything is refused; halvings are all that the sketch can still show. */
static void gather_nowhere(Table *t, u64 count, u64 *counts)
{
    counts[MISSES] += count;
    counts[REFUSALS] += count;
    for (u64 i = 0; i < count; i++)
        count_use(t, 0, counts);
    if (t->halve_after_gather)
        halve_if_due(t, counts);
}

static int replay(Table *t, const u64 *rows, const u64 *offsets, u64 gathers, u64 *counts)
{
    u64 checked = 0;
    int stopped = 0;
    t->unusable = 1;
    PyThreadState *released = PyEval_SaveThread();
    memset(counts, 0, (size_t)(gathers * COLUMNS) * sizeof *counts);
    for (u64 g = 0; g < gathers && !stopped; g++, counts += COLUMNS) {
        u64 count = offsets[g + 1] - offsets[g];
        if (t->sets)
            gather(t, rows + offsets[g], count, counts);
        else
            gather_nowhere(t, count, counts);
        if (offsets[g + 1] - checked > WORK) {
            checked = offsets[g + 1];
            stopped = interrupted(&released);
        }
    }
    PyEval_RestoreThread(released);
    t->unusable = stopped;
    return !stopped;
}
