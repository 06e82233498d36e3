"""numba's compiler for handlers: as it is, but for two checks of what a handler may do."""

from __future__ import annotations

from typing import Any

from numba import types
from numba.core import ir
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.errors import TypingError
from numba.core.typed_passes import NoPythonSupportedFeatureValidation

from seer_env.runtime.sim_type import ReadOnlyRecord, SimType

_ANY_ARRAY = types.Array(types.uint8, 1, "C")


@register_pass(mutates_CFG=False, analysis_only=True)
class HandlerFeatureValidation(NoPythonSupportedFeatureValidation):
    """numba's check of unsupported features, and that a handler stores into its own row only.

    numba allows an attribute called `view` on arrays alone: `sim.view(j)` is not one of those.
    """

    _name = "seer_env_handler_feature_validation"

    def run_pass(self, state):
        _refuse_foreign_stores(state.func_ir, state.typemap)
        typemap = state.typemap
        state.typemap = {
            name: _ANY_ARRAY if isinstance(kind, SimType) else kind for name, kind in typemap.items()
        }
        try:
            return super().run_pass(state)
        finally:
            state.typemap = typemap


def _refuse_foreign_stores(func_ir: Any, typemap: Any) -> None:
    """Raise at a store into a field of a read-only record; into arrays of one numba refuses it."""
    for block in func_ir.blocks.values():
        for statement in block.body:
            stores = isinstance(statement, (ir.SetAttr, ir.SetItem, ir.StaticSetItem))
            if stores and isinstance(typemap[statement.target.name], ReadOnlyRecord):
                raise TypingError(
                    "a handler writes its own row only: events, parameters and what others made public are "
                    "read-only",
                    loc=statement.loc,
                )


class HandlerCompiler(CompilerBase):
    """The nopython pipeline with `HandlerFeatureValidation`."""

    def define_pipelines(self):
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (HandlerFeatureValidation if step is NoPythonSupportedFeatureValidation else step, text)
            for step, text in manager.passes
        ]
        return [manager]
