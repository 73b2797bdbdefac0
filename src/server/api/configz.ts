import { kubeletConfigurationFields, type FieldRow } from '../../api/kubelet-configuration/fields.ts';
import { configurationObject } from '../../api/kubelet-configuration/schema.ts';
import type { KubeletConfiguration } from '../../api/kubelet-configuration/types.ts';
import { formatDurationMs } from '../../api/values/duration.ts';
import { formatQuantity, toQuantity } from '../../api/values/quantity.ts';
import { send } from './answers.ts';
import type { Mount } from './route-table.ts';

const rows: Readonly<Record<string, Readonly<Record<string, FieldRow>>>> = kubeletConfigurationFields;
/** Not shown, and shown though they are empty, as in the kubelet. evictionPolicy is a field of ours. */
const hidden = new Set(['evictionPolicy']);
const alwaysShown = new Set(['containerRuntimeEndpoint', 'verbosity']);

/** `/configz`: the configuration that the agent runs with. kubelet: component-base/configz */
export function configzMount(configuration: KubeletConfiguration): Mount {
  return {
    path: '/configz',
    subresources: ['configz', 'proxy'],
    handle: ({ response }) => {
      const headers = { 'content-type': 'application/json', 'x-content-type-options': 'nosniff' };
      send(response, 200, headers, JSON.stringify({ kubeletconfig: shownFields(configurationObject, configuration) }));
    },
  };
}

/** The fields as Go writes them: without empty ones, except for durations and nested objects. */
function shownFields(object: string, value: object): object {
  const values = value as Readonly<Record<string, unknown>>;
  const shown = Object.entries(rows[object] ?? {}).flatMap(([name, { kind }]): [string, unknown][] => {
    const member = values[name];
    if (hidden.has(name) || member === undefined) return [];
    if (isEmpty(kind, member) && !alwaysShown.has(name)) return [];
    return [[name, shownValue(kind.replace(/^[*!]/, ''), member)]];
  });
  return Object.fromEntries(shown);
}

/** True for values that Go's `omitempty` drops. Required fields do not have it. */
function isEmpty(kind: string, value: unknown): boolean {
  if (/^([*!]|duration)/.test(kind) || kind === 'quantity' || kind in rows) return false;
  return isZero(value) || (typeof value === 'object' && value !== null && Object.keys(value).length === 0);
}

const isZero = (value: unknown): boolean => value === '' || value === 0 || value === false;

function shownValue(kind: string, value: unknown): unknown {
  if (kind.startsWith('duration')) return formatDurationMs(Number(value));
  if (kind === 'quantity') return formatQuantity(toQuantity(String(value)));
  if (kind.startsWith('[]') && Array.isArray(value)) {
    return value.map((one: unknown) => shownValue(kind.slice(2), one));
  }
  if (kind === 'map quantity' && typeof value === 'object' && value !== null) {
    const amounts: [string, unknown][] = Object.entries(value);
    return Object.fromEntries(amounts.map(([name, amount]) => [name, shownValue('quantity', amount)]));
  }
  return kind in rows && typeof value === 'object' && value !== null ? shownFields(kind, value) : value;
}
