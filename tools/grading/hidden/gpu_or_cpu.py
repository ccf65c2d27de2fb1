"""Hidden checks of chapter 27."""

from compare import assert_same


def hidden_least_operations(rng, answer, solution):
    for _ in range(6):
        cpu = rng.uniform(1e11, 1e13)
        gpu = cpu * rng.choice([rng.uniform(2, 50), rng.uniform(0.2, 0.9)])
        start = rng.uniform(1e-6, 1e-4)
        copy = rng.uniform(0, 1e8), rng.uniform(1e9, 1e11)
        launches = int(rng.randint(1, 200))
        assert_same(answer, solution, launches, start, *copy, gpu, cpu)


def hidden_least_minibatch(rng, answer, solution):
    for rows in (1, 3, 5, 7):
        sizes = [2**i for i in range(rows)]
        gpu = [*rng.uniform(0.001, 0.1, rows)]
        cpu = [t * gain for t, gain in zip(gpu, rng.uniform(0.5, 9, rows))]
        for ratio in (0.1, 2.5, 4.5, 99):
            assert_same(answer, solution, sizes, cpu, gpu, ratio)


def hidden_choose(rng, answer, solution):
    for _ in range(12):
        one = rng.uniform(0.0005, 0.05)
        machines = {
            f'machine {i}': (
                rng.uniform(0.1, 9),
                {1: one * f, 8: 3 * one * f, 64: 9 * one * f},
            )
            for i, f in enumerate(rng.uniform(0.1, 3, 4))
        }
        images = int(10 ** rng.uniform(3, 8.5))
        assert_same(answer, solution, images, rng.uniform(0, 1), machines)
    images = int(rng.randint(2_000, 9_000))
    for limit in (2.1, 1.5, 0.9):  # in parts of the time between two images
        machine = {'machine': (1, {2: 0.01})}
        seconds = limit * 86_400 / images
        assert_same(answer, solution, images, seconds, machine)
