import { Command } from 'commander';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { addNodeOptions } from '../../../src/node/options/node-flags.ts';
import { type NodeFlags, nodeOptions } from '../../../src/node/options/node-options.ts';
import { remoteManifest } from '../../../src/node/sources/node-sources.ts';
import { readManifestURL } from '../../../src/node/sources/read-manifest-url.ts';
import { ArtifactRegistry, cosignKeys } from '../../fakes/artifact-registry.ts';
import { temporaryFolder } from '../../support/temporary-folder.ts';

const pod = 'apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: i}]}\n';

/** What a command with these flags reads from the artifact. */
async function declared(registry: ArtifactRegistry, rootDir: string, ...flags: string[]) {
  const url = registry.url().href;
  const command = addNodeOptions(new Command('run')).argument('[manifests...]');
  const args = ['--root-dir', rootDir, '--hostname-override', 'n', '--manifest-url', url, ...flags];
  command.parse(args, { from: 'user' });
  const options = await nodeOptions(command.opts<NodeFlags>(), command.args);
  const { pods, problems, version } = await readManifestURL(remoteManifest(options, url));
  return {
    pods: pods.map(({ metadata }) => metadata.name),
    problems: problems.map(({ message }) => message),
    version,
    secrets: options.secrets.hide('s3cret-password'),
  };
}

test('an artifact is read with the login of image pulls and the keys of the flags', async () => {
  const registry = await ArtifactRegistry.start();
  registry.login = { scheme: 'Bearer', userAndPassword: 'ada:s3cret-password' };
  const version = registry.push([{ mediaType: 'application/yaml', content: pod }]);
  const rootDir = await temporaryFolder();
  const login = { username: 'ada', password: 's3cret-password' };
  await writeFile(join(rootDir, 'config.json'), JSON.stringify({ auths: { [`${registry.host}/team`]: login } }));
  const { privateKey, pem } = cosignKeys();
  const keyFile = join(rootDir, 'cosign.pub');
  await writeFile(keyFile, pem);
  const flags = ['--manifest-url-cosign-key', keyFile];
  expect(await declared(registry, rootDir, ...flags)).toEqual({
    pods: [],
    problems: [`no key of --manifest-url-cosign-key signed ${version}`],
    version: undefined,
    secrets: '<hidden>',
  });
  registry.sign(version, [privateKey]);
  expect(await declared(registry, rootDir, ...flags)).toEqual({
    pods: ['web-n'],
    problems: [],
    version,
    secrets: '<hidden>',
  });
});

test('a broken login file is a warning with its name', async () => {
  const registry = await ArtifactRegistry.start();
  registry.login = { scheme: 'Basic', userAndPassword: 'ada:s3cret-password' };
  registry.push([{ mediaType: 'application/yaml', content: pod }]);
  const rootDir = await temporaryFolder();
  await writeFile(join(rootDir, 'config.json'), '{"auths": s3cret-password');
  expect(await declared(registry, rootDir)).toMatchObject({
    problems: ['the registry answered 401', 'is skipped: is not a JSON object'],
  });
});
