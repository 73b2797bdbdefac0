import {
  divideAwayFromZero,
  parseQuantity,
  type Quantity,
  quantityMilliValue,
  quantityValue,
  toQuantity,
} from './quantity.ts';
import type { Container, Pod, ResourceList } from '../types.ts';
import { checkAnnotationKey, checkQualifiedName } from './names.ts';
import { goQuote } from './go-quote.ts';
import { podNameLabel } from './replica-pod.ts';

/**
 * Value of a fieldRef to the metadata of a pod, including whole maps. Returns undefined for any other path. A missing
 * label or annotation is empty.
 *
 * kubelet: pkg/fieldpath ExtractFieldPathAsString
 */
export function metadataFieldValue(metadata: Partial<Pod['metadata']>, fieldPath: string): string | undefined {
  const subscripted = splitSubscript(fieldPath);
  if (subscripted) return mapValue(metadata, subscripted.path, subscripted.subscript);
  switch (fieldPath) {
    case 'metadata.name':
      // Programs read the ordinal of a StatefulSet's pod from its name.
      return metadata.labels?.[podNameLabel] ?? metadata.name ?? '';
    case 'metadata.namespace':
      return metadata.namespace ?? '';
    case 'metadata.uid':
      return metadata.uid ?? '';
    case 'metadata.labels':
      return formatMap(metadata.labels ?? {});
    case 'metadata.annotations':
      return formatMap(metadata.annotations ?? {});
    default:
      return undefined;
  }
}

/**
 * A map as the downward API writes it: one line `key="value"` for each key, sorted. kubelet: pkg/fieldpath FormatMap
 */
export function formatMap(map: Readonly<Record<string, string>>): string {
  return Object.entries(map)
    .toSorted(([a], [b]) => compareCodePoints(a, b))
    .map(([key, value]) => `${key}=${goQuote(value)}`)
    .join('\n');
}

/**
 * Value of a resourceFieldRef such as `limits.memory`: a whole number of divisors, rounded up. Returns undefined if the
 * name is not a resource. `allocatable` replaces limits on cpu, memory and ephemeral storage that the container does
 * not set.
 *
 * kubelet: pkg/api/v1/resource/helpers.go ExtractContainerResourceValue, kubelet_resources.go
 * defaultPodLimitsForDownwardAPI
 */
export function resourceFieldValue(
  resources: NonNullable<Container['resources']>,
  resource: string,
  divisor = '',
  allocatable: ResourceList = {},
): string | undefined {
  const [, list, name] = /^(requests|limits)\.(cpu|memory|ephemeral-storage|hugepages-.+)$/.exec(resource) ?? [];
  if (name === undefined) return undefined;
  const isLimit = list === 'limits';
  const written = toQuantity((isLimit ? resources.limits : resources.requests)?.[name]);
  const isUnlimited = isLimit && written.nanos === 0n && !name.startsWith('hugepages-');
  const amount = isUnlimited ? toQuantity(allocatable[name]) : written;
  const unitsOf = name === 'cpu' ? quantityMilliValue : quantityValue;
  return divideAwayFromZero(unitsOf(amount), unitsOf(toDivisor(divisor))).toString();
}

/** Splits `metadata.labels['key']` into path and key. Returns undefined if the path has no subscript. */
export function splitSubscript(fieldPath: string): { path: string; subscript: string } | undefined {
  const bracket = fieldPath.indexOf("['");
  if (bracket <= 0 || !fieldPath.endsWith("']")) return undefined;
  return { path: fieldPath.slice(0, bracket), subscript: fieldPath.slice(bracket + 2, -2) };
}

function mapValue(metadata: Partial<Pod['metadata']>, path: string, key: string): string | undefined {
  const isLabel = path === 'metadata.labels';
  if (!isLabel && path !== 'metadata.annotations') return undefined;
  if ((isLabel ? checkQualifiedName : checkAnnotationKey)(key) !== undefined) return undefined;
  const map = isLabel ? metadata.labels : metadata.annotations;
  return map && Object.hasOwn(map, key) ? map[key] : '';
}

function toDivisor(text: string): Quantity {
  const divisor = parseQuantity(text);
  return divisor === undefined || divisor.nanos === 0n ? toQuantity('1') : divisor;
}

/** Compares by UTF-8 bytes, which is the order of code points. JavaScript compares UTF-16 code units. */
function compareCodePoints(a: string, b: string): number {
  const left = Array.from(a, (character) => character.codePointAt(0) ?? 0);
  const right = Array.from(b, (character) => character.codePointAt(0) ?? 0);
  const at = left.findIndex((code, index) => code !== right[index]);
  return at === -1 ? left.length - right.length : (left[at] ?? 0) - (right[at] ?? -1);
}
