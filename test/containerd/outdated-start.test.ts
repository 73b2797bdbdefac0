import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { computeStartChanges, startChanges } from '../../src/containerd/outdated-start.ts';
import { identify, type ProcessIdentity } from '../../src/process/process-identity.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';

const started = { program: '1:2', env: { HTTPS_PROXY: 'http://proxy.example', PATH: '/bin', no_proxy: '' } };

test.each([
  ['nothing', started, false, []],
  ['a variable that it does not read', { ...started, env: { ...started.env, PATH: '/sbin' } }, false, []],
  ['an empty variable', { program: '1:2', env: { HTTPS_PROXY: 'http://proxy.example' } }, false, []],
  ['a proxy', { program: '1:2', env: { https_proxy: 'http://proxy.example' } }, false, ['HTTPS_PROXY', 'https_proxy']],
  ['a program', { ...started, program: '1:3' }, false, ['the program containerd']],
  ['certificates', started, true, ['the certificates of this machine']],
])('a containerd does not get what changes after its start: %s', (_what, now, certificatesChanged, changes) => {
  expect(computeStartChanges(started, now, certificatesChanged)).toEqual(changes);
});

/** A process with these variables, instead of a containerd. */
async function running(env: Record<string, string>): Promise<ProcessIdentity> {
  const child = spawn(process.execPath, ['-e', 'process.stdout.write("up"); setInterval(() => 0, 1000)'], { env });
  onTestFinished(() => {
    child.kill();
  });
  await once(child.stdout, 'data');
  const identity = await identify(child.pid ?? 0);
  if (identity === undefined) throw new Error('it has exited');
  return identity;
}

test('a process is compared with this environment, its program, and the file of certificates', async () => {
  const folder = await temporaryFolder();
  const certificates = join(folder, 'ca.pem');
  await writeFile(certificates, '');
  await utimes(certificates, 0, 0);
  const env = { SSL_CERT_FILE: certificates };
  const containerd = await running(env);
  expect(await startChanges(containerd, process.execPath, env)).toEqual([]);
  expect(await startChanges(containerd, certificates, { ...env, no_proxy: '*' })).toEqual([
    'the program containerd',
    'no_proxy',
  ]);
  await writeFile(certificates, 'another authority');
  expect(await startChanges(containerd, process.execPath, env)).toEqual(['the certificates of this machine']);
  expect(await startChanges({ pid: 2 ** 22, startTicks: '1' }, process.execPath, env)).toEqual([]);
});
