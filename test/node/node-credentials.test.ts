import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { inspect } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { nodeCredentials } from '../../src/node/node-credentials.ts';
import { EngineCounter } from '../../src/server/metrics/engine-counter.ts';
import { silentLogger } from '../fakes/silent-logger.ts';

/** A provider that answers with its own name as the user of every image below this registry. */
const configOf = (name: string): string =>
  JSON.stringify({
    apiVersion: 'kubelet.config.k8s.io/v1',
    kind: 'CredentialProviderConfig',
    providers: [
      {
        name,
        matchImages: ['registry.example'],
        defaultCacheDuration: '1m',
        apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      },
    ],
  });

/** A folder of configurations by file name, and the programs of these providers. */
async function folderWith(files: Readonly<Record<string, string>>, programs: readonly string[]): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'credentials-'));
  onTestFinished(() => rm(folder, { recursive: true }));
  await mkdir(join(folder, 'config/below'), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, 'config', name), text);
  for (const name of programs) {
    const auth = JSON.stringify({
      apiVersion: 'credentialprovider.kubelet.k8s.io/v1',
      kind: 'CredentialProviderResponse',
      cacheKeyType: 'Registry',
      auth: { 'registry.example': { username: name, password: 'p' } },
    });
    await writeFile(join(folder, name), `#!/bin/sh\ncat > /dev/null\necho '${auth}'\n`);
    await chmod(join(folder, name), 0o755);
  }
  return folder;
}

const read = (folder: string, meter?: EngineCounter): ReturnType<typeof nodeCredentials> =>
  nodeCredentials(
    { rootDir: folder, imageCredentialProviderConfig: join(folder, 'config'), imageCredentialProviderBinDir: folder },
    silentLogger,
    meter,
  );

test('the providers of all files in a folder are asked, but not those below it', async () => {
  const files = {
    'b.yaml': configOf('second'),
    'a.json': configOf('first'),
    'notes.txt': 'no configuration',
    'below/c.json': 'no JSON either',
  };
  const folder = await folderWith(files, ['first', 'second']);
  const credentialsFor = await read(folder);
  const text = inspect(await credentialsFor('registry.example/app'), { depth: 9 });
  expect([text.includes("'first'"), text.includes("'second'")]).toEqual([true, true]);
});

test('the hash of the configuration is a metric', async () => {
  const folder = await folderWith({ 'b.yaml': configOf('second'), 'a.json': configOf('first') }, ['first', 'second']);
  const counts = new EngineCounter();
  await read(folder, counts);
  const info = counts.families().find(({ name }) => name === 'kubelet_credential_provider_config_info');
  // SHA-256 of each file after its length in eight bytes, in the order of names.
  const hash = 'sha256:0e82b5af9b7b2c135f94ed8d547e0e62efd6ea225312bac57d32ca921b17b835';
  expect(info?.samples).toEqual([{ labels: { hash }, value: 1 }]);
});

test('a provider in two files is refused, with both files', async () => {
  const folder = await folderWith({ 'a.json': configOf('twin'), 'b.yml': configOf('twin') }, ['twin']);
  await expect(read(folder)).rejects.toMatchObject({
    message: `${folder}/config/b.yml: the credential provider twin is in ${folder}/config/a.json too`,
    hint: 'Remove it from one of the two files.',
  });
});

test('a folder without a configuration is refused', async () => {
  const folder = await folderWith({ 'notes.txt': '' }, []);
  await expect(read(folder)).rejects.toMatchObject({
    message: `the folder ${folder}/config has no configuration of credential providers`,
  });
});
