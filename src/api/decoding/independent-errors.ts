import type { FieldError } from '../values/field-errors.ts';

/**
 * Leaves out errors that may only result from fields that could not be decoded: errors of those fields, and of fields
 * that are compared with them. They would mislead.
 */
export function independentErrors(errors: readonly FieldError[], brokenFields: readonly string[]): FieldError[] {
  const causes = brokenFields.map(causeOf);
  return errors.filter(({ field, type }) => {
    const path = pathOf(field);
    return !causes.some((cause) => follows({ path, type }, cause));
  });
}

/** A field that could not be decoded. A manifest may break thousands of rules, so everything is computed once. */
interface Cause {
  readonly path: string;
  readonly region: string;
  readonly isPartOfVolumes: boolean;
  readonly isTopLevel: boolean;
  readonly isDependedOn: boolean;
  /** True if rules of any type about the region compare its fields. */
  readonly areAllCompared: boolean;
}

function causeOf(field: string): Cause {
  const region = regionOf(field);
  return {
    path: pathOf(field),
    region: pathOf(region),
    isPartOfVolumes: /^spec\.(?:volumes|resourceClaims)/.test(field),
    isTopLevel: /^\w+$/.test(field),
    isDependedOn: dependedOn.test(field),
    areAllCompared: /\.(?:resources|tolerations\[\d+\])$/.test(region),
  };
}

function follows({ path, type }: Pick<FieldError, 'type'> & { path: string }, cause: Cause): boolean {
  if (isWithin(path, cause.path) || isWithin(cause.path, path)) return true;
  // A volume with an unknown name may be the broken one.
  if (type === 'Not found') return cause.isPartOfVolumes;
  const comparesFields = type !== 'Invalid value' && type !== 'Unsupported value';
  // A key that a Secret needs may be in another data field.
  if (comparesFields && cause.isTopLevel) return true;
  // A class name, or fields such as `restartPolicy` and `hostNetwork`, decide what is forbidden.
  if (type === 'Forbidden' && cause.isDependedOn) return true;
  return isWithin(path, cause.region) && (comparesFields || cause.areAllCompared);
}

const dependedOn = /^metadata\.name$|(?:^spec|\.(?:c|initC|ephemeralC)ontainers\[\d+\])\.\w+$/;

/** The part of an object whose fields are compared: the field of a container or a spec, or one list item in it. */
function regionOf(field: string): string {
  const [region = field] =
    /^(?:spec\.(?:c|initC|ephemeralC)ontainers\[\d+\]|spec|scheduling|metadata)(?:\.\w+(?:\[\d+\])?)?/.exec(field) ??
    [];
  return region;
}

/** Rules name a map value as a field or in brackets. */
const pathOf = (field: string): string => field.replaceAll(/\[([^\]]*)\]/g, '.$1');

const isWithin = (path: string, outer: string): boolean =>
  path.startsWith(outer) && (path.length === outer.length || path[outer.length] === '.');
