import { resolve } from 'node:path';
import { type Command, Option } from 'commander';
import type { FieldRow } from '../../api/kubelet-configuration/fields.ts';
import type { ConfigurationLayer } from '../../api/kubelet-configuration/resolve.ts';
import { type ConfigurationField, configurationFields } from '../../api/kubelet-configuration/schema.ts';
import type { GivenConfiguration } from '../../api/kubelet-configuration/types.ts';
import { formatDurationMs } from '../../api/values/duration.ts';
import { configurationFlags } from './configuration-flags.ts';
import {
  accumulate,
  boolean,
  duration,
  gates,
  integer,
  integerOf,
  modules,
  numaMemory,
  pairs,
  taints,
  thresholds,
  words,
} from './flags.ts';

/**
 * Adds --config, --config-dir and the flags for fields of the configuration: all of them, or those that the command
 * uses. Flags without effect here are accepted but hidden in --help, so that the command line of a kubelet works
 * unchanged.
 */
export function addConfigurationFlags(command: Command, wanted?: readonly string[]): Command {
  command
    .option('--config <path>', 'KubeletConfiguration file')
    .option('--config-dir <path>', 'folder of drop-ins for it, *.conf');
  for (const { option, field } of flagOptions()) {
    if (wanted?.includes(field.path) !== false) command.addOption(option.hideHelp(field.does === undefined));
  }
  return command;
}

/** The configuration layer of the flags that commander parsed. */
export function flagsLayer(values: object): ConfigurationLayer {
  const given = new Map<string, unknown>(Object.entries(values));
  const patch: Record<string, unknown> = {};
  const origins = new Map<string, string>();
  for (const { option, field } of flagOptions()) {
    const value = given.get(option.attributeName());
    if (value === undefined || (value === '' && keptByEmptyFlags.has(field.path))) continue;
    setField(patch, field.path.split('.'), value);
    origins.set(field.path, option.long ?? option.flags);
  }
  return {
    // Safe cast: each flag has the type of its field, and validation checks the rest.
    given: { ...impliedByFlags(patch), ...patch },
    origin: 'flags',
    positionOf: (path) => {
      const origin = origins.get(path.replace(/\[.*/, ''));
      return origin === undefined ? undefined : { origin };
    },
  };
}

/** A number of parallel pulls implies serializeImagePulls. */
function impliedByFlags({ maxParallelImagePulls }: GivenConfiguration): GivenConfiguration {
  return typeof maxParallelImagePulls === 'number' ? { serializeImagePulls: maxParallelImagePulls < 2 } : {};
}

/** Fields that a flag with an empty value leaves unchanged. kubelet: component-base/cli/flag IPVar, for addresses */
const keptByEmptyFlags = new Set(['address', 'healthzBindAddress', 'podLogsDir']);

/** The flags for fields of the configuration. */
export function flagOptions(): { option: Option; field: ConfigurationField }[] {
  const fields = new Map(configurationFields().map((field) => [field.path, field]));
  return configurationFlags.map(([flags, path]) => {
    const field = fields.get(path);
    if (!field) throw new Error(`${flags} is for ${path}, which is not a field of the configuration`);
    const option = new Option(flags, description(field));
    const parse = parserOf(field);
    return { option: option.argParser((text, earlier: unknown) => accumulate(earlier, parse(text))), field };
  });
}

function description(field: ConfigurationField): string {
  const text = (field.does ?? '').replaceAll('`', '');
  const preset = defaultText(field);
  return preset === '' ? text : `${text} (default: ${preset})`;
}

/** The parser of a flag's value, by the type of its field. */
function parserOf({ path, kind }: ConfigurationField): (text: string) => unknown {
  const special = specialParsers.get(path);
  if (special) return special;
  switch (kind.replace(/^[*!]/, '')) {
    case 'bool':
      return boolean;
    case 'int32':
      return integerOf(32);
    case 'int64':
      return integerOf(64);
    case 'uint32':
      return integer;
    case 'duration':
    case 'durationOrNanoseconds':
      return duration;
    case '[]string':
      return words;
    case 'map string':
      return pairs;
    case 'string':
    case 'quantity':
      return (text) => text;
    default:
      throw new Error(`no flag can set ${path}`);
  }
}

const specialParsers = new Map<string, (text: string) => unknown>([
  // kubelet: any driver but systemd is cgroupfs
  ['cgroupDriver', (text) => (text === '' ? 'cgroupfs' : text)],
  ['evictionHard', thresholds],
  ['evictionSoft', thresholds],
  ['featureGates', gates],
  ['logging.vmodule', modules],
  ['podLogsDir', (text) => (text === '' ? text : resolve(text))],
  ['registerWithTaints', taints],
  ['reservedMemory', numaMemory],
]);

function setField(object: Record<string, unknown>, [name = '', ...rest]: readonly string[], value: unknown): void {
  if (rest.length === 0) {
    object[name] = value;
    return;
  }
  const child = object[name];
  const inner: Record<string, unknown> = typeof child === 'object' && child !== null ? { ...child } : {};
  setField(inner, rest, value);
  object[name] = inner;
}

/** The default of a field as written in a file. Empty for Go's zero value, and for a default without an effect here. */
export function defaultText({ kind, default: value, onlyIfGiven = false }: FieldRow): string {
  if (onlyIfGiven) return '';
  if (typeof value === 'number' && /duration/i.test(kind)) return shortDuration(value);
  if (typeof value === 'object') {
    return Array.isArray(value)
      ? value.join(', ')
      : Object.entries(value)
          .map(([name, text]) => `${name}: ${text}`)
          .join(', ');
  }
  return value === undefined ? '' : String(value);
}

/** The usual short form: `2m` where Go prints `2m0s`. */
function shortDuration(milliseconds: number): string {
  return formatDurationMs(milliseconds).replace(/m0s$/, 'm').replace(/h0m$/, 'h');
}
