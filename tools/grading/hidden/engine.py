"""Hidden checks of chapter 28."""

import numpy as onp


def watched_run_queue(rng, answer, solution):
    chapter = solution.__globals__
    add = onp.add
    for _ in range(4):
        devices = [chapter['Device'](f'cpu({i})', answer) for i in range(3)]
        made, right = [], []
        for i in range(60):
            device = devices[rng.randint(3)]
            if i < 2 or rng.rand() < 0.1:
                value = int(rng.randint(1_000_000))
                made.append(device.push(lambda value=value: value))
                right.append(value)
                continue
            a, b = rng.randint(i, size=2)
            inputs = made[a], made[b]
            if rng.rand() < 0.03:
                made.append(device.push(lambda x, y: [][x + y + 1], *inputs))
                right.append(None)
            else:
                made.append(device.push(add, *inputs))
                failed = right[a] is None or right[b] is None
                right.append(None if failed else right[a] + right[b])
        for operation, wanted in zip(made, right):
            try:
                found = operation.wait()
            except IndexError:
                found = None
            except TimeoutError as error:
                raise AssertionError(f'hidden check: {error}') from None
            assert found == wanted, 'hidden check: sums on three devices'


def watched_backward_from(rng, answer, solution):
    chapter = solution.__globals__
    add, tanh, send, dot = (
        chapter[name] for name in ('add', 'tanh', 'send', 'dot')
    )
    for _ in range(6):
        devices = [
            chapter['Device'](f'cpu({i})', chapter['run_queue'])
            for i in range(2)
        ]
        value = rng.randn(3, 3)
        x = chapter['variable'](value, devices[0])
        with chapter['record']():
            made = [x]
            for _ in range(7):
                a, b = (made[i] for i in rng.randint(len(made), size=2))
                one = (dot, add)[rng.randint(2)](tanh(a), b)
                made.append(one)
            there = send(made[-1], devices[1])
            head = add(send(there, devices[0]), made[rng.randint(7)])
        grads = []
        for function in (answer, solution):
            x.node.grad = None
            function(head)
            assert x.node.grad, 'hidden check: a variable has no gradient'
            grads.append(x.node.grad.wait())
        scale = 1 + abs(grads[1]).max()
        assert abs(grads[0] - grads[1]).max() < 1e-9 * scale, (
            'hidden check: a random network on two devices'
        )


def watched_multiply(rng, answer, solution):
    chapter = solution.__globals__
    device = chapter['Device']('cpu(0)', chapter['run_queue'])
    for _ in range(4):
        values = rng.randn(2, 5, 3)
        results = []
        for multiply in (answer, solution):
            a, b = (chapter['variable'](value, device) for value in values)
            with chapter['record']():
                head = multiply(multiply(a, b), multiply(a, a))
            chapter['backward_from'](head)
            grads = a.node.grad, b.node.grad
            assert all(grads), 'hidden check: an input has no gradient'
            results.append([one.wait() for one in (head.future, *grads)])
        for found, right in zip(*results):
            assert onp.allclose(found, right), (
                'hidden check: products of random arrays, and gradients'
            )


def hidden_must_wait(rng, answer, solution):
    for _ in range(12):
        operations = [
            tuple(
                {f'w{i}' for i in rng.randint(5, size=rng.randint(3))}
                for _ in range(2)
            )
            for _ in range(rng.randint(1, 8))
        ]
        ours = solution(operations)
        found = answer(operations)
        try:
            found = [{*map(int, one)} for one in found]
        except (TypeError, ValueError):
            found = None
        assert found == ours, f'hidden check: {operations}'
