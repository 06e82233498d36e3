"""numba's compiler for handlers: as it is, but `sim.view(j)` is not mistaken for `array.view(dtype)`."""

from __future__ import annotations

from numba import types
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import NoPythonSupportedFeatureValidation

from seer_env.runtime.sim_type import SimType

_ANY_ARRAY = types.Array(types.uint8, 1, "C")


@register_pass(mutates_CFG=False, analysis_only=True)
class HandlerFeatureValidation(NoPythonSupportedFeatureValidation):
    """numba's check of unsupported features, which allows a `view` attribute on arrays alone."""

    _name = "seer_env_handler_feature_validation"

    def run_pass(self, state):
        typemap = state.typemap
        state.typemap = {
            name: _ANY_ARRAY if isinstance(kind, SimType) else kind for name, kind in typemap.items()
        }
        try:
            return super().run_pass(state)
        finally:
            state.typemap = typemap


class HandlerCompiler(CompilerBase):
    """The nopython pipeline with `HandlerFeatureValidation`."""

    def define_pipelines(self):
        manager = DefaultPassBuilder.define_nopython_pipeline(self.state)
        manager.passes = [
            (HandlerFeatureValidation if step is NoPythonSupportedFeatureValidation else step, text)
            for step, text in manager.passes
        ]
        return [manager]
