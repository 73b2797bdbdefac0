import { type Command, InvalidArgumentError, Option } from 'commander';
import { parseDuration } from '../../api/values/duration.ts';
import { parseIntLiteral } from '../../api/values/go-numbers.ts';
import { formatQuantity, parseQuantity } from '../../api/values/quantity.ts';
import { defaultRootDir, rootDirNamed } from '../../files/root-dir.ts';

/** Parses a repeatable flag. */
export const collect = (value: string, values: string[] = []): string[] => [...values, value];

/** Parses a repeatable flag with comma-separated values. */
export const list = (value: string, values: string[] = []): string[] => [...values, ...value.split(',')];

/** Parses a whole number. */
export function wholeNumber(text: string): number {
  if (!/^\d+$/.test(text)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(text);
}

/** The parser of an integer with these bits, such as `110`, `0x6e` and `1_000`. kubelet: pflag Int32, Int64 */
export function integerOf(bits: 32 | 64): (text: string) => number {
  return (text) => {
    const value = parseIntLiteral(text, bits);
    if (value === undefined) {
      const limit = 2n ** BigInt(bits - 1);
      throw new InvalidArgumentError(`It must be a whole number from ${-limit} to ${limit - 1n}.`);
    }
    return Number(value);
  };
}

/** Parses an integer. Accepts `-v=2`, as pflag does. */
export function integer(text: string): number {
  const digits = text.replace(/^=/, '');
  if (!/^-?\d{1,15}$/.test(digits)) throw new InvalidArgumentError('It must be a whole number.');
  return Number(digits);
}

/** Parses a Go duration to milliseconds. */
export function duration(text: string): number {
  const nanoseconds = parseDuration(text);
  if (nanoseconds !== undefined && nanoseconds >= 0n) return Number(nanoseconds) / 1_000_000;
  throw new InvalidArgumentError('It must be a duration such as 20s or 1m30s.');
}

/** Parses a duration such as 20s, or a number of seconds, as other tools accept them. */
export function seconds(text: string): number {
  return duration(/^\d+$/.test(text) ? `${text}s` : text);
}

/** Parses a boolean as Go does. */
export function boolean(text: string): boolean {
  if (/^(1|t|T|true|TRUE|True)$/.test(text)) return true;
  if (/^(0|f|F|false|FALSE|False)$/.test(text)) return false;
  throw new InvalidArgumentError('It must be true or false.');
}

/** Parses comma-separated values. kubelet: pflag StringSlice */
export const words = (text: string): string[] => (text === '' ? [] : text.split(','));

/** Parses pairs such as `cpu=500m,memory=1Gi`. kubelet: cliflag NewMapStringString */
export const pairs = (text: string): Record<string, string> => splitAll(text, '=');

/** Parses eviction thresholds such as `memory.available<500Mi`. kubelet: cliflag NewLangleSeparatedMapStringString */
export const thresholds = (text: string): Record<string, string> => splitAll(text, '<');

/** Parses feature gates such as `ImageVolume=true,NodeSwap=false`. kubelet: cliflag NewMapStringBool */
export function gates(text: string): Record<string, boolean> {
  return Object.fromEntries(Object.entries(pairs(text)).map(([name, value]) => [name, boolean(value)]));
}

interface Taint {
  key: string;
  value: string;
  effect: string;
}

/** Parses taints such as `dedicated=etcd:NoSchedule`. The value is optional. */
export function taints(text: string): Taint[] {
  return parts(text).map((part) => {
    const [pair, effect] = split(part, ':');
    const [key, value] = pair.includes('=') ? split(pair, '=') : [pair, ''];
    return { key, value, effect };
  });
}

/**
 * Parses memory by NUMA node, such as `0:memory=1Gi,hugepages-2Mi=4Mi;1:memory=2Gi`. kubelet: util/flag/flags.go
 * ReservedMemoryVar
 */
export function numaMemory(text: string): { numaNode: number; limits: Record<string, string> }[] {
  return text.split(';').map((part) => {
    const [numaNode, limits] = splitExactly(part, ':');
    return { numaNode: decimal(numaNode), limits: Object.fromEntries(limits.split(',').map(memoryLimit)) };
  });
}

/** Removes the spaces around parts, which `split` keeps and the kubelet refuses. */
function splitExactly(text: string, separator: string): [string, string] {
  const [name, value, ...more] = text.split(separator);
  if (name !== undefined && value !== undefined && more.length === 0) return [name, value];
  throw new InvalidArgumentError(
    `"${text}" does not have one ${separator}. Write it as NODE:memory=1Gi,hugepages-2Mi=4Mi.`,
  );
}

/** kubelet: Go's strconv.Atoi */
function decimal(text: string): number {
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError(`"${text}" is not the number of a NUMA node.`);
}

/** A type of memory and its amount, as Kubernetes writes amounts. */
function memoryLimit(text: string): [string, string] {
  const [type, written] = splitExactly(text, '=');
  if (type !== 'memory' && !type.startsWith('hugepages-')) {
    throw new InvalidArgumentError(`"${type}" is not a kind of memory. Write memory or hugepages-2Mi.`);
  }
  const amount = parseQuantity(written);
  if (amount !== undefined) return [type, formatQuantity(amount)];
  throw new InvalidArgumentError(`"${written}" is not an amount of ${type}. Write an amount such as 1Gi.`);
}

/** Parses log levels by file, such as `pleg=4,pod*=2`. */
export function modules(text: string): { filePattern: string; verbosity: number }[] {
  return Object.entries(pairs(text)).map(([filePattern, level]) => ({ filePattern, verbosity: wholeNumber(level) }));
}

/** Combines repeated flags: lists and maps grow, for others the last value counts. */
export function accumulate(earlier: unknown, value: unknown): unknown {
  if (Array.isArray(value))
    return Array.isArray(earlier) ? [...(earlier as unknown[]), ...(value as unknown[])] : value;
  if (typeof value !== 'object' || typeof earlier !== 'object') return value;
  return { ...earlier, ...value };
}

const splitAll = (text: string, separator: string): Record<string, string> =>
  Object.fromEntries(parts(text).map((part) => split(part, separator)));

const parts = (text: string): string[] => text.split(',').filter((part) => part.trim() !== '');

function split(text: string, separator: string): [string, string] {
  const at = text.indexOf(separator);
  if (at > 0) return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
  throw new InvalidArgumentError(`"${text}" has no ${separator}. Write it as NAME${separator}VALUE.`);
}

/** Adds the flags that locate the agent and the runtime, for every command. */
export function addRuntimeOptions(command: Command): Command {
  return addRootDirOption(command).option(
    '--container-runtime-endpoint <endpoint>',
    'CRI socket, such as unix:///run/containerd/containerd.sock',
  );
}

/** Adds the flag of the root-dir. */
export function addRootDirOption(command: Command): Command {
  return command.addOption(
    new Option('--root-dir <path>', 'folder of all state of kubelet-ts')
      .default(defaultRootDir)
      .env('KUBELET_TS_ROOT_DIR')
      .argParser(rootDirNamed),
  );
}

/** The version of the reference kubelet, as a kubelet prints it. */
export const referenceVersion = 'v1.36.3';
