# 1 wrong: tells nobody -> nobody is told
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error

# 1 wrong: done before the work -> done before its work has returned
def run_queue(queue):
    while True:
        operation = queue.get()
        operation.done.set()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error

# 1 wrong: gives the operations to the work -> it needs their values
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            operation.value = operation.work(*operation.inputs)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 wrong: does not wait for the inputs -> was not there yet
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.value for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 wrong: catches nothing -> ended the thread
def run_queue(queue):
    while True:
        operation = queue.get()
        values = [given.wait() for given in operation.inputs]
        operation.value = operation.work(*values)
        operation.done.set()

# 1 wrong: done only after success -> must be told, too
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
            operation.done.set()
        except Exception as error:
            operation.error = error

# 1 wrong: forgets the error -> must learn what happened
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception:
            pass
        operation.done.set()

# 1 wrong: waits for inputs outside of try -> an input had an error, and .* ZeroDivisionError
def run_queue(queue):
    while True:
        operation = queue.get()
        values = [given.wait() for given in operation.inputs]
        try:
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 wrong: the newest first -> in the order \[3, 2, 1, 0\]
def run_queue(queue):
    waiting = []
    while True:
        waiting.append(queue.get())
        while not queue.empty():
            waiting.append(queue.get())
        operation = waiting.pop()
        while operation is not None:
            try:
                values = [given.wait() for given in operation.inputs]
                operation.value = operation.work(*values)
            except Exception as error:
                operation.error = error
            operation.done.set()
            while not queue.empty():
                waiting.append(queue.get())
            operation = waiting.pop() if waiting else None

# 1 wrong: the error as the value -> value ZeroDivisionError
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.value = error
        operation.done.set()

# 1 wrong: a thread for each operation -> one at a time
def run_queue(queue):
    def run(operation):
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()
    while True:
        threading.Thread(target=run, args=[queue.get()], daemon=True).start()

# 1 wrong: ends when the queue is empty -> run_queue has returned|those after it
def run_queue(queue):
    while not queue.empty():
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 wrong: keeps no value -> has the value None
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            operation.work(*[given.wait() for given in operation.inputs])
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 wrong: stops after an error -> the next one does not run
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
            break
        finally:
            operation.done.set()

# 1 wrong: the inputs in the wrong order -> got \(2, 7\)
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs[::-1]]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 wrong: an input that failed counts as None -> an input raised Zero.* value None
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            for given in operation.inputs:
                given.done.wait()
            values = [given.value for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 right: with finally
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        finally:
            operation.done.set()

# 1 right: a function that runs one
def run_queue(queue):
    def run(operation):
        try:
            return operation.work(*[i.wait() for i in operation.inputs]), None
        except Exception as error:
            return None, error
    while True:
        operation = queue.get()
        operation.value, operation.error = run(operation)
        operation.done.set()

# 1 right: for and iter
def run_queue(queue):
    for operation in iter(queue.get, None):
        try:
            operation.value = operation.work(
                *(given.wait() for given in operation.inputs))
        except BaseException as error:
            operation.error = error
        operation.done.set()

# 1 right: wakes up now and then
def run_queue(queue):
    from queue import Empty
    while True:
        try:
            operation = queue.get(timeout=0.5)
        except Empty:
            continue
        try:
            values = []
            for given in operation.inputs:
                values.append(given.wait())
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 right: map
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            operation.value = operation.work(
                *map(Operation.wait, operation.inputs))
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 right: try and else
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            values = [given.wait() for given in operation.inputs]
            result = operation.work(*values)
        except Exception as error:
            operation.error = error
        else:
            operation.value = result
        operation.done.set()

# 1 right: looks for errors of the inputs first
def run_queue(queue):
    while True:
        operation = queue.get()
        for given in operation.inputs:
            given.done.wait(10)
        errors = [g.error for g in operation.inputs if g.error is not None]
        if errors:
            operation.error = errors[0]
        else:
            try:
                operation.value = operation.work(
                    *[given.value for given in operation.inputs])
            except Exception as error:
                operation.error = error
        operation.done.set()

# 1 right: a generator of operations
def run_queue(queue):
    def operations():
        while True:
            yield queue.get()
    for operation in operations():
        try:
            values = tuple(given.wait() for given in operation.inputs)
            operation.value = operation.work(*values)
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 right: a context that keeps the error
def run_queue(queue):
    @contextlib.contextmanager
    def finishing(operation):
        try:
            yield
        except Exception as error:
            operation.error = error
        operation.done.set()
    while True:
        operation = queue.get()
        with finishing(operation):
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)

# 1 right: tells the queue, too
def run_queue(queue):
    while True:
        operation = queue.get(block=True)
        try:
            values = [given.wait() for given in operation.inputs]
            operation.value = operation.work(*values)
        except Exception as error:
            operation.value, operation.error = None, error
        operation.done.set()
        queue.task_done()

# 1 right: two levels of try
def run_queue(queue):
    while True:
        operation = queue.get()
        try:
            try:
                values = [given.wait() for given in operation.inputs]
                operation.value = operation.work(*values)
            finally:
                pass
        except Exception as error:
            operation.error = error
        operation.done.set()

# 1 right: from the package
def run_queue(queue):
    from d2lmulti.appendix import engine
    engine.run_queue(queue)

# 1 right: takes all that are there
def run_queue(queue):
    from collections import deque
    mine = deque()
    while True:
        mine.append(queue.get())
        while mine:
            operation = mine.popleft()
            try:
                values = [given.wait() for given in operation.inputs]
                operation.value = operation.work(*values)
            except Exception as error:
                operation.error = error
            operation.done.set()

# 2 wrong: the last part replaces the others -> gets a part from each use
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                gradients[other] = other.device.push(
                    back, node.grad, *node.futures)

# 2 wrong: the oldest first -> gets a part from each use
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = min(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: each path for itself -> turn comes once
def backward_from(head):
    seen = set()

    def go_back(node, gradient):
        if node in seen and not node.inputs:
            gradient_of = node.device.push(onp.add, node.grad, gradient)
            node.grad = gradient_of
        else:
            seen.add(node)
            node.grad = gradient
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                go_back(other, other.device.push(
                    back, gradient, *node.futures))

    go_back(head.node, head.device.push(onp.ones_like, head.future))

# 2 wrong: adds to the gradient of the last time -> must be replaced
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        gradient = gradients.pop(node)
        if not node.inputs and node.grad is not None:
            node.grad = node.device.push(onp.add, node.grad, gradient)
        else:
            node.grad = gradient
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, gradient, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: constants get gradients, too -> AttributeError.*NoneType
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            part = other.device.push(back, node.grad, *node.futures)
            if other in gradients:
                part = other.device.push(onp.add, gradients[other], part)
            gradients[other] = part

# 2 wrong: on the device of the result -> another device
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = node.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = node.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: only sums on the device of the input -> another device
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = node.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: reads the gradients -> must be the operation
def backward_from(head):
    gradients = {head.node: onp.ones_like(head.numpy())}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        values = [future.wait() for future in node.futures]
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                gradients[other] = gradients.get(other, 0) + back(
                    node.grad, *values)

# 2 wrong: waits for each gradient -> waits for a value
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        node.grad.wait()
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: begins with the number 1 -> in the shape of the head
def backward_from(head):
    gradients = {head.node: head.device.push(lambda: onp.array(1.))}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: without the values that were read -> cannot be computed: TypeError
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, node.grad)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: keeps the gradients to itself -> belongs into node.grad
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        gradient = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, gradient, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 wrong: a part for each input, and one for two that are the same -> x \+ x.*gets a part from each use
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in dict(zip(node.inputs, node.backs)).items():
            if other is not None:
                part = other.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 right: with the node's own grad
def backward_from(head):
    turns = {head.node}
    head.node.grad = head.device.push(onp.ones_like, head.future)
    while turns:
        node = max(turns, key=lambda node: node.number)
        turns.remove(node)
        for other, back in zip(node.inputs, node.backs):
            if other is None:
                continue
            part = other.device.push(back, node.grad, *node.futures)
            if other in turns:
                part = other.device.push(onp.add, other.grad, part)
            other.grad = part
            turns.add(other)

# 2 right: a heap
def backward_from(head):
    import heapq
    gradients = {head.node.number: head.device.push(
        onp.ones_like, head.future)}
    heap = [(-head.node.number, head.node)]
    while heap:
        _, node = heapq.heappop(heap)
        node.grad = gradients.pop(node.number)
        for other, back in zip(node.inputs, node.backs):
            if other is None:
                continue
            part = other.device.push(back, node.grad, *node.futures)
            if other.number in gradients:
                part = other.device.push(
                    onp.add, gradients[other.number], part)
            else:
                heapq.heappush(heap, (-other.number, other))
            gradients[other.number] = part

# 2 right: sorts all nodes first
def backward_from(head):
    found, left = {head.node}, [head.node]
    while left:
        for other in left.pop().inputs:
            if other is not None and other not in found:
                found.add(other)
                left.append(other)
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    for node in sorted(found, key=lambda node: -node.number):
        node.grad = gradients[node]
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 right: lists of parts, added at the node's turn
def backward_from(head):
    parts = {head.node: [head.device.push(onp.ones_like, head.future)]}
    while parts:
        node = max(parts, key=lambda node: node.number)
        total, *others = parts.pop(node)
        for part in others:
            total = node.device.push(onp.add, total, part)
        node.grad = total
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                parts.setdefault(other, []).append(
                    other.device.push(back, total, *node.futures))

# 2 right: adds all parts in one operation
def backward_from(head):
    parts = {head.node: [head.device.push(onp.ones_like, head.future)]}
    while parts:
        node = sorted(parts, key=lambda node: node.number)[-1]
        node.grad = node.device.push(
            lambda *values: sum(values[1:], values[0]), *parts.pop(node))
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                parts.setdefault(other, []).append(
                    other.device.push(back, node.grad, *node.futures))

# 2 right: counts how often a node is used
def backward_from(head):
    uses, left = {head.node: 0}, [head.node]
    while left:
        for other in left.pop().inputs:
            if other is not None:
                if other not in uses:
                    left.append(other)
                uses[other] = uses.get(other, 0) + 1
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    free = [head.node]
    while free:
        node = free.pop()
        node.grad = gradients[node]
        for other, back in zip(node.inputs, node.backs):
            if other is None:
                continue
            part = other.device.push(back, node.grad, *node.futures)
            if other in gradients:
                part = other.device.push(onp.add, gradients[other], part)
            gradients[other] = part
            uses[other] -= 1
            if not uses[other]:
                free.append(other)

# 2 right: topological order by depth first search
def backward_from(head):
    order, seen = [], set()

    def visit(node):
        seen.add(node)
        for other in node.inputs:
            if other is not None and other not in seen:
                visit(other)
        order.append(node)

    visit(head.node)
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    for node in reversed(order):
        node.grad = gradients[node]
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, node.grad, *node.futures)
                gradients[other] = other.device.push(
                    onp.add, gradients[other], part
                ) if other in gradients else part

# 2 right: a helper that adds
def backward_from(head):
    gradients = {}

    def give(node, part):
        if node in gradients:
            part = node.device.push(onp.add, gradients[node], part)
        gradients[node] = part

    give(head.node, head.device.push(onp.ones_like, head.future))
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for other, back in zip(node.inputs, node.backs):
            if other:
                give(other, other.device.push(
                    back, node.grad, *node.futures))

# 2 right: recursion over the turns
def backward_from(head):
    def go_on(gradients):
        if not gradients:
            return
        node = max(gradients, key=lambda node: node.number)
        node.grad = gradients.pop(node)
        for i, other in enumerate(node.inputs):
            if other is not None:
                part = other.device.push(
                    node.backs[i], node.grad, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, part, gradients[other])
                gradients[other] = part
        go_on(gradients)

    go_on({head.node: head.device.push(onp.ones_like, head.future)})

# 2 right: with call and arrays
def backward_from(head):
    gradients = {head.node: call(onp.ones_like, head)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        g = gradients.pop(node)
        node.grad = g.future
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = Array(other.device, other.device.push(
                    back, g.future, *node.futures))
                if other in gradients:
                    part = call(onp.add, gradients[other], part)
                gradients[other] = part

# 2 right: the gradients of variables alone are kept
def backward_from(head):
    gradients = {head.node: head.device.push(onp.ones_like, head.future)}
    while gradients:
        node = max(gradients, key=lambda node: node.number)
        gradient = gradients.pop(node)
        if not node.inputs:
            node.grad = gradient
        for other, back in zip(node.inputs, node.backs):
            if other is not None:
                part = other.device.push(back, gradient, *node.futures)
                if other in gradients:
                    part = other.device.push(onp.add, gradients[other], part)
                gradients[other] = part

# 2 right: begins with the value divided by nothing: full of 1
def backward_from(head):
    gradients = {head.node: head.device.push(
        lambda x: onp.full_like(x, 1), head.future)}
    while gradients:
        node, = sorted(gradients, key=lambda n: n.number, reverse=True)[:1]
        node.grad = gradients.pop(node)
        pairs = [pair for pair in zip(node.inputs, node.backs) if pair[0]]
        for other, back in pairs:
            part = other.device.push(back, node.grad, *node.futures)
            old = gradients.get(other)
            gradients[other] = part if old is None else other.device.push(
                onp.add, old, part)

# 2 right: from the package
def backward_from(head):
    from d2lmulti.appendix import engine
    return engine.backward_from(head)

# 3 wrong: the gradients the other way round -> the other way round
def multiply(a, b):
    return remember(call(onp.multiply, a, b), [a, b], [
        lambda g, a, b: g * a, lambda g, a, b: g * b])

# 3 wrong: not recorded -> has no node
def multiply(a, b):
    return call(onp.multiply, a, b)

# 3 wrong: forgets the gradient of the result -> is a factor, too
def multiply(a, b):
    return remember(call(onp.multiply, a, b), [a, b], [
        lambda g, a, b: b, lambda g, a, b: a])

# 3 wrong: waits for the values -> waits for a value
def multiply(a, b):
    product = array(a.numpy() * b.numpy(), a.device)
    return remember(product, [a, b], [
        lambda g, a, b: g * b, lambda g, a, b: g * a])

# 3 wrong: reads the array when the gradient is wanted -> gets the values that were read
def multiply(x, y):
    return remember(call(onp.multiply, x, y), [x, y], [
        lambda g, a, b: g * y.numpy(), lambda g, a, b: g * x.future.value])

# 3 wrong: one input alone -> an input gets no gradient
def multiply(a, b):
    return remember(call(onp.multiply, a, b), [a, b], [
        lambda g, a, b: g * b])

# 3 wrong: the matrix product -> \[2, 3\] times \[5, 7\]
def multiply(a, b):
    return dot(a, b)

# 3 wrong: a number -> return an Array
def multiply(a, b):
    return a.device.push(onp.multiply, a.future, b.future)

# 3 right: with a function for each
def multiply(a, b):
    def to_a(g, a, b):
        return g * b
    def to_b(g, a, b):
        return a * g
    return remember(call(lambda a, b: a * b, a, b), [a, b], [to_a, to_b])

# 3 right: the values by their place
def multiply(a, b):
    product = call(onp.multiply, a, b)
    return remember(product, (a, b), [
        lambda g, *read: g * read[1], lambda g, *read: g * read[0]])

# 4 wrong: only what it reads -> the race above
def must_wait(operations):
    return [{j for j, (_, written) in enumerate(operations[:i])
             if written & reads} for i, (reads, _) in enumerate(operations)]

# 4 wrong: two writes in any order -> the later one must win
def must_wait(operations):
    return [{j for j, (read, written) in enumerate(operations[:i])
             if written & reads or read & writes}
            for i, (reads, writes) in enumerate(operations)]

# 4 wrong: a write may overtake a read -> the race above
def must_wait(operations):
    return [{j for j, (read, written) in enumerate(operations[:i])
             if written & (reads | writes)}
            for i, (reads, writes) in enumerate(operations)]

# 4 wrong: two that read wait, too -> both only read
def must_wait(operations):
    return [{j for j, (read, written) in enumerate(operations[:i])
             if (read | written) & (reads | writes)}
            for i, (reads, writes) in enumerate(operations)]

# 4 wrong: the last one only -> each reads what the others write
def must_wait(operations):
    return [{max(found)} if found else set() for found in (
        [j for j, (read, written) in enumerate(operations[:i])
         if written & (reads | writes) or read & writes]
        for i, (reads, writes) in enumerate(operations))]

# 4 wrong: all earlier ones -> both only read|share nothing
def must_wait(operations):
    return [set(range(i)) for i in range(len(operations))]

# 4 wrong: numbers, not sets -> a list of sets
def must_wait(operations):
    return [0 for _ in operations]

# 4 right: loops
def must_wait(operations):
    result = []
    for i in range(len(operations)):
        result.append(set())
        for j in range(i):
            if operations[j][1] & operations[i][0]:
                result[i].add(j)
            if operations[j][0] & operations[i][1]:
                result[i].add(j)
            if operations[j][1] & operations[i][1]:
                result[i].add(j)
    return result

# 4 right: lists
def must_wait(operations):
    return [[j for j in range(i) if (
        operations[j][1] & (operations[i][0] | operations[i][1])
        or operations[j][0] & operations[i][1])]
        for i in range(len(operations))]
