import type { ConfigObject } from '../values/config-object.ts';
import type { FieldProblem } from '../decoding/manifest-object.ts';
import type { FieldErrors } from '../values/field-errors.ts';

/** Creates an object of each kind from its canonical value. The object is used only if there are no errors. */
export type Loaders<O extends ConfigObject> = Record<
  O['kind'],
  (value: Record<string, unknown>, errors: FieldErrors, warnings: FieldProblem[]) => O
>;
