import { readdir } from 'node:fs/promises';
import { dirname, isAbsolute, join, resolve } from 'node:path';
import { decodeKubeletConfiguration } from '../../api/kubelet-configuration/decode.ts';
import type { FeatureGates } from '../../api/values/feature-gates.ts';
import {
  type ConfigurationLayer,
  documentLayer,
  resolveKubeletConfiguration,
} from '../../api/kubelet-configuration/resolve.ts';
import type { GivenConfiguration, KubeletConfiguration } from '../../api/kubelet-configuration/types.ts';
import { PathGuard } from '../../engine/host/path-guard.ts';
import type { ManifestProblem } from '../../api/text/manifest-problem.ts';
import { UserError } from '../../errors.ts';
import { readFailure } from '../../files/file-failure.ts';
import { maxNamedFileBytes, readRegularFile } from '../../files/regular-file.ts';
import { problemText } from '../../api/values/problem-text.ts';

/** The configuration files of a node. */
export interface ConfigurationFiles {
  /** The file of --config; empty for none. */
  config?: string;
  /** The folder of drop-ins, --config-dir; empty for none. */
  configDir?: string;
}

/** The checked configuration of a node. */
export interface NodeConfiguration {
  configuration: KubeletConfiguration;
  /** True if a file or flag sets the field. */
  isGiven: (field: keyof KubeletConfiguration) => boolean;
  featureGates: FeatureGates;
  /** Warnings, such as for unknown fields. */
  warnings: ManifestProblem[];
}

/** Shared by all reads of one process: a file system that hangs is not read again. */
export const newPathGuard = (): PathGuard => new PathGuard({ maxHung: 1 });

/** A configuration file that is wrong or cannot be read. */
export class BrokenConfiguration extends UserError {
  /** All problems, warnings too. Empty if a file cannot be read. */
  readonly problems: readonly ManifestProblem[];

  constructor(message: string, { problems = [], ...options }: RefusalOptions = {}) {
    super(message, options);
    this.problems = problems;
  }
}

type RefusalOptions = NonNullable<ConstructorParameters<typeof UserError>[1]> & {
  problems?: readonly ManifestProblem[];
};

/**
 * Reads the file of --config and the drop-ins of --config-dir and applies the flags over them. Throws a `UserError`
 * that lists every mistake in all of them. It is a `BrokenConfiguration` unless all of them are in flags.
 *
 * kubelet: cmd/kubelet/app/server.go NewKubeletCommand
 */
export async function readConfiguration(
  { config, configDir }: ConfigurationFiles,
  flags: ConfigurationLayer,
  paths = newPathGuard(),
): Promise<NodeConfiguration> {
  const problems: ManifestProblem[] = [];
  const file = !config ? undefined : await readLayer(resolve(config), { paths, problems });
  const dropIns: ConfigurationLayer[] = [];
  for (const path of !configDir ? [] : await dropInPaths(resolve(configDir), { paths, problems })) {
    const layer = await readLayer(path, { paths, problems, isDropIn: true });
    if (layer) dropIns.push(layer);
  }
  refuseErrors(problems, true);
  const outcome = resolveKubeletConfiguration({
    file: file && { ...file, given: resolvePaths(file.given, dirname(file.origin)) },
    dropIns,
    flags,
  });
  refuseErrors([...problems, ...outcome.problems], file !== undefined || dropIns.length > 0);
  if (!outcome.resolved) throw new Error('A configuration without errors is there');
  const layers = [...(file ? [file] : []), ...dropIns, flags];
  return {
    ...outcome.resolved,
    isGiven: (field) => layers.some(({ given }) => given[field] !== undefined),
    warnings: [...problems, ...outcome.problems],
  };
}

interface Reading {
  /** Gives up on a file system that does not answer. */
  paths: PathGuard;
  problems: ManifestProblem[];
  isDropIn?: boolean;
}

async function readLayer(
  path: string,
  { paths, problems, isDropIn }: Reading,
): Promise<ConfigurationLayer | undefined> {
  const decoded = decodeKubeletConfiguration(await readBytes(path, paths), path, { isDropIn });
  problems.push(...decoded.problems);
  const { given, document } = decoded;
  return given && document && documentLayer(given, document);
}

async function readBytes(path: string, paths: PathGuard): Promise<Uint8Array> {
  try {
    return await paths.run(path, () => readRegularFile(path, maxNamedFileBytes, { followLinks: true }));
  } catch (cause) {
    throw new BrokenConfiguration(`the configuration ${path} cannot be read: ${readFailure(cause)}`, {
      hint: 'It is named by --config, or in the folder of --config-dir.',
      cause,
    });
  }
}

const dropInExtension = '.conf';

/** The drop-ins at any depth below a folder, ordered by name, folders among files. Warns of other files. */
async function dropInPaths(folder: string, reading: Reading): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await sortedEntries(folder, reading.paths)) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await dropInPaths(path, reading)));
    else if (entry.name.endsWith(dropInExtension)) found.push(path);
    else reading.problems.push({ origin: path, message: notDropIn, severity: 'warning' });
  }
  return found;
}

const notDropIn = 'ignored: the kubelet reads only *.conf in --config-dir; rename the file or remove it';

async function sortedEntries(folder: string, paths: PathGuard): Promise<{ name: string; isDirectory(): boolean }[]> {
  try {
    const entries = await paths.run(folder, () => readdir(folder, { withFileTypes: true }));
    return entries.sort((a, b) => Buffer.compare(Buffer.from(a.name), Buffer.from(b.name)));
  } catch (cause) {
    throw new BrokenConfiguration(
      `the folder ${folder} of --config-dir cannot be read: ${readFailure(cause, 'folder')}`,
      { cause },
    );
  }
}

/** Includes the warnings, because one of them may explain an error. */
function refuseErrors(problems: readonly ManifestProblem[], hasFile: boolean): void {
  const errors = problems.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return;
  const message = `the configuration is invalid\n${problems.map(problemText).join('\n')}`;
  const isOfFile = hasFile && errors.some(({ origin }) => !origin.startsWith('--'));
  throw isOfFile ? new BrokenConfiguration(message, { problems }) : new UserError(message);
}

/**
 * Makes the paths in a file absolute. In the file of --config they are relative to its folder, in drop-ins and flags to
 * the working directory. kubelet: apis/config/helpers.go KubeletConfigurationPathRefs
 */
function resolvePaths(given: GivenConfiguration, folder: string): GivenConfiguration {
  const resolved = { ...given };
  for (const name of pathFields) {
    const path = given[name];
    if (typeof path === 'string') resolved[name] = resolvePath(path, folder);
  }
  const clientCAFile = given.authentication?.x509?.clientCAFile;
  if (typeof clientCAFile !== 'string') return resolved;
  const x509 = { clientCAFile: resolvePath(clientCAFile, folder) };
  return { ...resolved, authentication: { ...given.authentication, x509 } };
}

const pathFields = [
  'podLogsDir',
  'resolvConf',
  'staticPodPath',
  'tlsCertFile',
  'tlsPrivateKeyFile',
  'volumePluginDir',
] as const;

const resolvePath = (path: string, folder: string): string =>
  path === '' || isAbsolute(path) ? path : resolve(folder, path);
