"""What stands for IPython in the process of an answer.

The runner executes this file with names that hold nothing else, and registers
no module: an answer that reaches them has nothing of the grader.
"""

import os
import re
import subprocess
import time
import types

OPTIONS = re.compile(r'\s*((?:-[oqctpnr]+\s*\d*\s+)*)(.*)', re.DOTALL)
LEAST_SECONDS = 0.01  # for a loop of %timeit; IPython takes 0.2


class Timed:
    """What %timeit -o gives, as IPython's TimeitResult."""

    def __init__(self, loops, all_runs):
        self.loops, self.repeat = loops, len(all_runs)
        self.all_runs, self.compile_time = all_runs, 0.0
        self.timings = [seconds / loops for seconds in all_runs]
        self.best, self.worst = min(self.timings), max(self.timings)
        self.average = sum(self.timings) / self.repeat
        squares = [(one - self.average) ** 2 for one in self.timings]
        self.stdev = (sum(squares) / self.repeat) ** 0.5


class Handle:
    """What `display` gives with an id, and %%capture: it shows nothing."""

    stdout, stderr, outputs = '', '', ()

    def update(self, *args, **kwargs):
        """Show nothing."""

    display = show = update


class Notebook:
    """Runs magics and commands; what only shows something does nothing.

    `names`: of the cells.
    """

    def __init__(self, names):
        self.user_ns = names

    def run_line_magic(self, name, line='', *_):
        """Run a line: `%time f(1)`."""
        if name == 'timeit':
            options, code = OPTIONS.match(line).groups()
            return self.timeit(options, lambda: self.evaluate(code))
        if name == 'time':
            return self.evaluate(line)
        if name in ('sx', 'system'):
            return self.getoutput(line)
        if name == 'env' and '=' in line:
            os.environ.update([line.split('=', 1)])
        if name == 'cd' and line:
            os.chdir(os.path.expanduser(line))
        return None

    def run_cell_magic(self, name, line='', cell=''):
        """Run a cell with a line above it."""
        if name == 'writefile':
            file = line.split()[-1]
            with open(file, 'a' if '-a' in line.split() else 'w') as text:
                text.write(cell)
        elif name in ('bash', 'sh'):
            self.system(cell)
        elif name in ('time', 'timeit', 'capture', 'prun'):
            self.evaluate(cell)

    def magic(self, line):
        """Run a line without its `%`."""
        name, _, rest = line.strip().lstrip('%').partition(' ')
        return self.run_line_magic(name, rest)

    def timeit(self, options, work):
        """Call `work` in loops; return the times with -o, else None."""
        number, repeat = (
            re.search(rf'-[a-z]*{letter}\s*(\d+)', options) for letter in 'nr'
        )

        def seconds(loops):
            start = time.perf_counter()
            for _ in range(loops):
                work()
            return time.perf_counter() - start

        loops = int(number[1]) if number else 1
        while not number and seconds(loops) < LEAST_SECONDS:
            loops *= 10
        repeats = int(repeat[1]) if repeat else 7
        found = Timed(loops, [seconds(loops) for _ in range(repeats)])
        return found if re.search(r'-\w*o', options) else None

    def evaluate(self, source):
        """Return the value of an expression, or run statements."""
        try:
            code = compile(source.strip(), '<answer>', 'eval')
        except SyntaxError:
            code = compile(source, '<answer>', 'exec')
        return eval(code, self.user_ns)

    def system(self, command):
        """Run a command of the shell, with the limits of an answer."""
        done = subprocess.run(
            self.filled(command), shell=True, stdin=subprocess.DEVNULL
        )
        self.user_ns['_exit_code'] = done.returncode

    def getoutput(self, command, *args, **kwargs):
        """Return the lines that a command prints."""
        done = subprocess.run(
            self.filled(command),
            shell=True,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        return done.stdout.decode(errors='replace').splitlines()

    def filled(self, command):
        """Return a command with the values of `{x + 1}` and `$x`."""

        def value(match):
            text = match[1] or match[2]
            try:
                return str(eval(text, self.user_ns))
            except Exception:
                return match[0]

        return re.sub(r'\{([^{}]+)\}|\$(\w+)', value, command)

    def captured(self):
        """Return what %%capture names."""
        return Handle()

    def set_next_input(self, *args, **kwargs):
        """Do nothing."""


def display(*args, display_id=None, **kwargs):
    """Show nothing."""
    return Handle() if display_id else None


def names_for(names):
    """Return what a notebook has besides Python."""
    notebook = Notebook(names)
    return {
        'display': display,
        'get_ipython': types.MethodType(lambda self: self, notebook),
    }
