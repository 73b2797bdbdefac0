import { execFileSync } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { podSandboxConfig } from '../../src/engine/kuberuntime/pod-sandbox-config.ts';
import type { RuntimeSettings } from '../../src/engine/kuberuntime/request/runtime-settings.ts';
import { nodeCredentials } from '../../src/node/node-credentials.ts';
import { flagsLayer } from '../../src/node/options/add-configuration-flags.ts';
import { readConfiguration } from '../../src/node/options/read-configuration.ts';
import { makeStaticPod } from '../builders/static-pod.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const noFlags = flagsLayer({});

/** Reads a file as a flag names it. */
const readers: Readonly<Record<string, (file: string, folder: string) => Promise<unknown>>> = {
  '--config': (config) => readConfiguration({ config }, noFlags),
  '--config-dir': async (file, folder) => {
    const configDir = join(folder, 'drop-ins');
    await mkdir(configDir);
    await symlink(file, join(configDir, 'a.conf'));
    return readConfiguration({ configDir }, noFlags);
  },
  '--image-credential-provider-config': (file, folder) =>
    nodeCredentials(
      { rootDir: folder, imageCredentialProviderConfig: file, imageCredentialProviderBinDir: folder },
      silentLogger,
    ),
  '--resolv-conf': (resolvConf) => podSandboxConfig(makeStaticPod('web'), 0, { resolvConf } as RuntimeSettings),
};

const makers: Readonly<Record<string, (folder: string) => Promise<string> | string>> = {
  'a device': () => '/dev/zero',
  'a named pipe': (folder) => {
    const pipe = join(folder, 'pipe');
    execFileSync('mkfifo', [pipe]);
    return pipe;
  },
  'a file of 11 MiB': async (folder) => {
    const file = join(folder, 'large');
    await writeFile(file, Buffer.alloc(11 * 1024 * 1024));
    return file;
  },
};

const cases = Object.keys(readers).flatMap((flag) => Object.keys(makers).map((kind) => [flag, kind] as const));

test.each(cases)('%s refuses %s at once, and reads no more than is allowed', async (flag, kind) => {
  const folder = await temporaryFolder();
  const file = await makers[kind]?.(folder);
  const reason =
    kind === 'a file of 11 MiB' ? / is larger than 10485760 bytes$/ : new RegExp(` is ${kind}, not a regular file$`);
  await expect(readers[flag]?.(file ?? '', folder)).rejects.toMatchObject({
    message: expect.stringMatching(reason) as string,
  });
});
