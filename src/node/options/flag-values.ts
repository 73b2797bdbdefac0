import { type ConfigurationField } from '../../api/kubelet-configuration/schema.ts';
import { formatDurationMs } from '../../api/values/duration.ts';
import { shownURL } from '../../origins/http/url.ts';
import { flagOptions, flagsLayer } from './add-configuration-flags.ts';
import type { NodeFlags } from './node-options.ts';

/**
 * The values of flags by name, without dashes. Flags for fields of the configuration have what was given or else the
 * default; other flags are here if they were given or the kubelet has them too. As in the kubelet, a file of --config
 * changes none of them. kubelet: component-base/zpages/flagz
 */
export function flagValues(flags: NodeFlags): Record<string, string> {
  const { given } = flagsLayer(flags);
  const fields = flagOptions().map(({ option, field }): [string, string] => {
    const value = memberAt(given, field.path) ?? field.default;
    return [option.name(), valueText(field, value)];
  });
  const byName = new Map(fields);
  const others = Object.entries({ ...defaults, ...flags }).flatMap(([key, value]: [string, unknown]) => {
    const name = key.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
    if (byName.has(name)) return [];
    const text = otherText(name, value);
    return [[name, text !== '' && hiddenFlags.has(name) ? hiddenValue : text] as const];
  });
  return Object.fromEntries([...fields, ...others]);
}

/** The defaults of flags that are not for a field of the configuration. */
const defaults = {
  config: '',
  configDir: '',
  certDir: '',
  containerRuntimeEndpoint: '',
  help: false,
  hostnameOverride: '',
  imageCredentialProviderBinDir: '',
  imageCredentialProviderConfig: '',
  inPlace: true,
  manifestUrl: '',
  manifestUrlHeader: '',
  maximumDeadContainers: -1,
  maximumDeadContainersPerContainer: 1,
  minimumContainerTtlDuration: 0,
  nodeIp: '',
  nodeLabels: '',
  offline: false,
  podManifestPath: '',
  version: false,
};

/** Flags whose values are credentials. */
const hiddenFlags = new Set(['manifest-url-header', 'status-url-header', 'storage-driver-password']);
/** kubelet: component-base/zpages/flagz, of flags that are classified */
const hiddenValue = 'CLASSIFIED';

function otherText(name: string, value: unknown): string {
  if (name.endsWith('-duration') && typeof value === 'number') return formatDurationMs(value);
  const texts = (Array.isArray(value) ? value : [value]).map(String);
  return texts.map((text) => (name.endsWith('-url') && URL.canParse(text) ? shownURL(new URL(text)) : text)).join(',');
}

function memberAt(object: unknown, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | undefined)?.[name], object);
}

/** A value as pflag prints one of this type. */
function valueText({ path, kind }: ConfigurationField, value: unknown): string {
  const type = kind.replace(/^[*!]/, '');
  if (value === undefined) return zeros[type] ?? '';
  if (type.startsWith('duration')) return formatDurationMs(Number(value));
  if (type === '[]string') return `[${(value as string[]).join(',')}]`;
  if (Array.isArray(value)) return (value as object[]).map(itemText).join(',');
  if (typeof value !== 'object' || value === null) return (value as string | number | boolean).toString();
  const separator = path === 'evictionHard' || path === 'evictionSoft' ? '<' : '=';
  return Object.entries(value)
    .map(([name, one]) => `${name}${separator}${String(one)}`)
    .sort()
    .join(',');
}

/** What Go prints for a value that is not set. */
const zeros: Readonly<Record<string, string>> = {
  bool: 'false',
  duration: '0s',
  int32: '0',
  int64: '0',
  uint32: '0',
  quantity: '0',
  '[]string': '[]',
};

type Item = Record<string, string | Record<string, string>>;

/** A taint, a level of the log for files, or the reserved memory of a NUMA node. */
function itemText(item: object): string {
  const { key, value, effect, filePattern, verbosity, numaNode, limits = {} } = item as Item;
  if (typeof key === 'string') return `${key}=${value as string}:${effect as string}`;
  if (typeof filePattern === 'string') return `${filePattern}=${verbosity as string}`;
  const amounts = Object.entries(limits).map(([name, amount]) => `${name}=${amount}`);
  return `${numaNode as string}:${amounts.join(',')}`;
}
