import type * as core from 'kubernetes-types/core/v1.js';
import type { FieldErrors } from '../values/field-errors.ts';

/** Checks one kind of volume. `volume` is whole, as some rules look at its name. */
export type VolumeRule = (errors: FieldErrors, field: string, volume: core.Volume, podName: string) => void;
