"""Let notebooks open in JupyterLab as saved: `install.sh` puts this in .venv.

The stored notebooks name neither kernel nor version. JupyterLab adds both as
soon as the kernel runs, and a notebook that nobody has touched then counts as
changed. So they are added when a notebook is read.
"""

import sys

from ipykernel.ipkernel import IPythonKernel
from jupyter_server.services.contents.largefilemanager import (
    AsyncLargeFileManager,
)

KERNEL = {
    'display_name': 'Python 3 (ipykernel)',
    'language': 'python',
    'name': 'python3',
}


class KernelNamer(AsyncLargeFileManager):
    """Reads and saves files, and names this environment's kernel."""

    async def get(self, path, content=True, *arguments, **options):
        """Return what the server tells of a file, or of a folder."""
        model = await super().get(path, content, *arguments, **options)
        if content and model['type'] == 'notebook':
            metadata = model['content']['metadata']
            if metadata.setdefault('kernelspec', KERNEL) == KERNEL:
                metadata['language_info'] = {
                    **IPythonKernel.language_info,
                    'version': '.'.join(map(str, sys.version_info[:3])),
                }
        return model


get_config().ServerApp.contents_manager_class = KernelNamer  # noqa: F821
