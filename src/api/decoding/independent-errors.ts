import type { FieldError } from '../values/field-errors.ts';

/**
 * True if a broken rule may only come from fields that could not be decoded, and so would mislead: it is about one of
 * them, or about other fields that it compares with one.
 */
export function followsFrom({ field, type }: FieldError, brokenFields: readonly string[]): boolean {
  return brokenFields.some((broken) => {
    if (isWithin(field, broken) || isWithin(broken, field)) return true;
    // A volume of an unknown name may be the broken one.
    if (type === 'Not found') return /^spec\.(?:volumes|resourceClaims)/.test(broken);
    const comparesFields = !['Invalid value', 'Unsupported value'].includes(type);
    // A key that a Secret needs may be in another field.
    if (comparesFields && /^\w+$/.test(broken)) return true;
    // What is forbidden depends on fields such as `restartPolicy` and `hostNetwork`, or the name of a class.
    if (type === 'Forbidden' && dependedOn.test(broken)) return true;
    const region = regionOf(broken);
    if (!isWithin(field, region)) return false;
    return comparesFields || /\.(?:resources|tolerations\[\d+\])$/.test(region);
  });
}

const dependedOn = /^metadata\.name$|(?:^spec|\.(?:c|initC|ephemeralC)ontainers\[\d+\])\.\w+$/;

/** The part of an object whose fields are compared: the field of a container or a spec, or one item of it. */
function regionOf(field: string): string {
  const [region = field] =
    /^(?:spec\.(?:c|initC|ephemeralC)ontainers\[\d+\]|spec|scheduling|metadata)(?:\.\w+(?:\[\d+\])?)?/.exec(field) ??
    [];
  return region;
}

/** Rules write a value of a map as a field or in brackets. */
function isWithin(field: string, outer: string): boolean {
  const [path, outerPath] = [field, outer].map((text) => text.replaceAll(/\[([^\]]*)\]/g, '.$1'));
  return path === outerPath || path?.startsWith(`${outerPath}.`) === true;
}
