import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { access, readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import type { CredentialProvider } from '../api/kubelet-configuration/credential-provider-config.ts';
import { systemClock } from '../clock.ts';
import type { CredentialPlugin } from '../engine/images/credential-plugin.ts';
import { type DockerConfigPaths, readDockerConfigFiles } from '../engine/images/docker-config-files.ts';
import type { DockerConfig } from '../engine/images/docker-config.ts';
import type { Meter } from '../engine/view/meter.ts';
import { errorMessage, hasCode, UserError } from '../errors.ts';
import { readFailure } from '../files/file-failure.ts';
import type { Logger } from '../logger.ts';
import { maxNamedFileBytes, readRegularFile } from '../files/regular-file.ts';
import { problemText } from '../api/values/problem-text.ts';
import { type CredentialProviderFlags, refuseHalfOfCredentialProviders } from './options/credential-provider-flags.ts';

/** Sources of the node's registry credentials. */
export interface NodeCredentialsOptions extends CredentialProviderFlags {
  rootDir: string;
}

/**
 * The registry credentials of the node: from its files, and from its providers, ordered by name. Throws a `UserError`
 * if a provider is invalid.
 */
export async function nodeCredentials(
  options: NodeCredentialsOptions,
  logger: Logger,
  meter?: Pick<Meter, 'count' | 'observe' | 'setSeries'>,
): Promise<(repository: string) => Promise<DockerConfig[]>> {
  const { rootDir } = options;
  const paths: DockerConfigPaths = { rootDir, workingDir: process.cwd(), home: process.env['HOME'] ?? '' };
  const onBroken = (path: string, err: string): void => {
    logger.warn({ path, err }, 'Skipped a broken registry credentials file');
  };
  const plugins = await openPlugins(options, logger, meter);
  return (repository) =>
    Promise.all([
      readDockerConfigFiles(paths, onBroken),
      ...plugins.map((plugin) => plugin.credentialsFor(repository)),
    ]);
}

async function openPlugins(
  options: NodeCredentialsOptions,
  logger: Logger,
  meter: Pick<Meter, 'count' | 'observe' | 'setSeries'> | undefined,
): Promise<CredentialPlugin[]> {
  const { imageCredentialProviderConfig: file, imageCredentialProviderBinDir: folder } = options;
  refuseHalfOfCredentialProviders(options);
  if (file === '') return [];
  const binDir = resolve(folder);
  const { providers, hash } = await readProviders(resolve(file));
  meter?.setSeries('kubelet_credential_provider_config_info', 1, { hash });
  for (const { name } of providers) await requireProgram(join(binDir, name));
  const [{ CredentialPlugin }, { execCredentialPlugin }] = await Promise.all([
    import('../engine/images/credential-plugin.ts'),
    import('../engine/images/exec-credential-plugin.ts'),
  ]);
  return providers
    .toSorted((a, b) => (a.name < b.name ? -1 : 1))
    .map(
      (provider) =>
        new CredentialPlugin({
          provider,
          exec: (asked, input) => execCredentialPlugin({ binDir, clock: systemClock }, asked, input),
          meter,
          clock: systemClock,
          logger,
        }),
    );
}

/** The providers of a file, or of all files of a folder, and the kubelet's hash of the content. */
async function readProviders(path: string): Promise<{ providers: CredentialProvider[]; hash: string }> {
  const hash = createHash('sha256');
  const owners = new Map<string, string>();
  const providers: CredentialProvider[] = [];
  for (const file of await configFiles(path)) {
    const read = await readProvidersOf(file);
    const length = Buffer.alloc(8);
    length.writeBigUInt64BE(BigInt(read.bytes.length));
    hash.update(length).update(read.bytes);
    for (const provider of read.providers) {
      const { name } = provider;
      const owner = owners.get(name);
      if (owner !== undefined) {
        throw new UserError(`${file}: the credential provider ${name} is in ${owner} too`, {
          hint: 'Remove it from one of the two files.',
        });
      }
      owners.set(name, file);
      providers.push(provider);
    }
  }
  return { providers, hash: `sha256:${hash.digest('hex')}` };
}

/** The file itself, or the files in a folder by name, without those below it. kubelet: plugin/config.go */
async function configFiles(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
    // What is wrong with a file is reported when it is read.
    if (hasCode(error, 'ENOTDIR', 'ENOENT')) return undefined;
    throw new UserError(`the credential providers ${path} cannot be read: ${readFailure(error, 'folder')}`, {
      cause: error,
    });
  });
  if (entries === undefined) return [path];
  const files = entries.filter((entry) => !entry.isDirectory() && configName.test(entry.name));
  if (files.length > 0) return files.map(({ name }) => join(path, name)).sort();
  throw new UserError(`the folder ${path} has no configuration of credential providers`, {
    hint: 'Their files end in .json, .yaml or .yml.',
  });
}

const configName = /\.(?:json|ya?ml)$/;

async function readProvidersOf(file: string): Promise<{ providers: CredentialProvider[]; bytes: Buffer }> {
  const { loadCredentialProviderConfig } = await import('../api/kubelet-configuration/credential-provider-config.ts');
  const bytes = await readRegularFile(file, maxNamedFileBytes, { followLinks: true }).catch((cause: unknown) => {
    throw new UserError(`the credential providers ${file} cannot be read: ${readFailure(cause)}`, { cause });
  });
  const { providers, problems } = loadCredentialProviderConfig(bytes, file);
  if (providers !== undefined) return { providers, bytes };
  const lines = problems.map((problem) => problemText(problem, systemClock.now()));
  throw new UserError(['the credential providers are invalid', ...lines].join('\n'));
}

async function requireProgram(path: string): Promise<void> {
  try {
    await access(path, constants.X_OK);
  } catch (cause) {
    throw new UserError(`the credential provider ${path} cannot be run: ${errorMessage(cause)}`, {
      hint: 'It must be an executable file in the folder of --image-credential-provider-bin-dir.',
      cause,
    });
  }
}
