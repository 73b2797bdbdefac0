import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type { ConfigurationCase } from './configuration-case.ts';
import type { LogRotationCase } from './log-rotation-case.ts';
import type { ManifestCase } from './manifest-case.ts';
import type { ServerFile } from './server/server-file.ts';
import { serverFiles } from './server/server-files.ts';
import type { StartCase } from './start-case.ts';

/** A file of recorded cases. */
export type GoldenFile = { path: string } & (
  | { kind: 'table'; table: string; cases: TableCase[] }
  | { kind: 'manifests'; cases: ManifestCase[] }
  | { kind: 'configurations'; cases: ConfigurationCase[] }
  | { kind: 'log rotation'; cases: LogRotationCase[] }
  | { kind: 'starts'; cases: StartCase[] }
  | { kind: 'server'; replay: () => ReturnType<ServerFile['replay']> }
);

export interface TableCase {
  in: unknown;
  out: unknown;
}

/** The golden files among a file or everything below a folder, found by what they hold, in the order of their paths. */
export function findGoldenFiles(path: string): GoldenFile[] {
  if (!statSync(path).isDirectory()) {
    const file = readGoldenFile(path);
    return file ? [file] : [];
  }
  return readdirSync(path)
    .sort()
    .flatMap((name) => findGoldenFiles(join(path, name)));
}

/** Undefined for a file that is in none of the formats. */
function readGoldenFile(path: string): GoldenFile | undefined {
  if (!/\.jsonl?$/.test(path)) return undefined;
  const lines = readFileSync(path, 'utf8').trim();
  if (path.endsWith('.json')) {
    const content = parse(lines);
    if (isTable(content)) return { path, kind: 'table', ...content };
    const server = isObject(content) ? serverFiles.find((kind) => kind.holds(content)) : undefined;
    if (server && isObject(content)) return { path, kind: 'server', replay: () => server.replay(content) };
    if (isListOf(content, isLogRotation)) return { path, kind: 'log rotation', cases: content };
    return isListOf(content, isStartWithLogFlags) ? { path, kind: 'starts', cases: content } : undefined;
  }
  const cases = lines.split('\n').map(parse);
  if (cases.every(isManifestCase)) return { path, kind: 'manifests', cases };
  return cases.every(isConfigurationCase) ? { path, kind: 'configurations', cases } : undefined;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // A file of something else.
    return undefined;
  }
}

function isTable(value: unknown): value is { table: string; cases: TableCase[] } {
  return isObject(value) && typeof value['table'] === 'string' && Array.isArray(value['cases']);
}

function isListOf<T>(value: unknown, isOne: (one: unknown) => one is T): value is T[] {
  return Array.isArray(value) && value.length > 0 && value.every(isOne);
}

function isLogRotation(value: unknown): value is LogRotationCase {
  return isObject(value) && Array.isArray(value['events']) && Array.isArray(value['finalFiles']);
}

/** Starts with flags of parts that are not built are recorded too. */
function isStartWithLogFlags(value: unknown): value is StartCase {
  if (!isObject(value) || typeof value['outcome'] !== 'string' || !Array.isArray(value['flags'])) return false;
  const isInFile = typeof value['config'] === 'string' && /^containerLog/m.test(value['config']);
  return isInFile || value['flags'].some((flag) => String(flag).startsWith('--container-log-'));
}

function isManifestCase(value: unknown): value is ManifestCase {
  return isExpectation(value) && ('manifest' in value || 'manifestBase64' in value);
}

function isConfigurationCase(value: unknown): value is ConfigurationCase {
  return isExpectation(value);
}

function isExpectation(value: unknown): value is { name: string; expect: Record<string, unknown> } {
  return isObject(value) && typeof value['name'] === 'string' && isObject(value['expect']);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
