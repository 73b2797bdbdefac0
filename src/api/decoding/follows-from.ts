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
    // What is forbidden depends on fields such as `restartPolicy` and `hostNetwork`.
    if (type === 'Forbidden' && /(?:^spec|\.(?:c|initC|ephemeralC)ontainers\[\d+\])\.\w+$/.test(broken)) return true;
    const region = regionOf(broken);
    if (!isWithin(field, region)) return false;
    return region.endsWith('.resources') || !['Invalid value', 'Unsupported value'].includes(type);
  });
}

/** The part of a pod whose fields are compared: the field of a container or a spec, or one item of it. */
function regionOf(field: string): string {
  const [region = field] =
    /^(?:spec\.(?:c|initC|ephemeralC)ontainers\[\d+\]|spec|metadata)(?:\.\w+(?:\[\d+\])?)?/.exec(field) ?? [];
  return region;
}

function isWithin(field: string, outer: string): boolean {
  return field === outer || field.startsWith(`${outer}.`) || field.startsWith(`${outer}[`);
}
