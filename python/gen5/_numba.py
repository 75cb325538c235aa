"""Changes to numba-cuda: it links to machine code; here it gets the PTX before that step."""

from __future__ import annotations

import typing


def _change_driver(module: typing.Any) -> None:
    linker = module._Linker
    link = linker.complete

    def complete(self: typing.Any) -> typing.Any:
        codes = self._object_codes
        if self._has_ltoir:
            options = self._get_linker_options(ptx=True)
            self.linker = module.Linker(*codes, options=options)
            result = self.linker.link("ptx")
            self.close()
        elif len(codes) == 1 and codes[0].code_type == "ptx":
            result = codes[0]
        else:
            return link(self)  # several pieces: machine code, which tinygpu refuses with a sentence
        self._info_log = self._error_log = ""
        self._complete = True
        return result

    linker.complete = complete


CHANGES = {"numba_cuda.numba.cuda.cudadrv.driver": _change_driver, "numba.cuda.cudadrv.driver": _change_driver}
