import { Command } from 'commander';
import { expect, test } from 'vitest';
import { resolveObjects } from '../../src/commands/get-objects.ts';
import { register } from '../../src/commands/ps.ts';
import { LastGoodManifests } from '../../src/engine/config/last-good/last-good-manifests.ts';
import { FakeClock } from '../fakes/fake-clock.ts';
import { silentLogger } from '../fakes/silent-logger.ts';
import { temporaryFolder } from '../support/temporary-folder.ts';
import { makeEntry, makeSnapshot } from '../tui/make-snapshot.ts';
import { startFakeAgent } from './fake-agent.ts';
import { makeDeps, makeRuntime } from './runtime-listings.ts';

const none = { pods: false, events: false, names: [] };

test.each([
  ['svc', { ...none, kinds: ['Service'] }],
  ['services web', { ...none, kinds: ['Service'], names: ['web'] }],
  ['svc/web', { ...none, kinds: ['Service'], names: ['web'] }],
  ['po,svc', { ...none, pods: true, kinds: ['Service'] }],
  ['pods,events', { ...none, pods: true, events: true, kinds: [] }],
  ['all', { ...none, pods: true, kinds: ['Service'] }],
  ['cm,secret,pvc', { ...none, kinds: ['ConfigMap', 'Secret', 'PersistentVolumeClaim'] }],
  ['events', { ...none, events: true, kinds: [] }],
  ['pods', undefined],
  ['po web', undefined],
  ['web', undefined],
  ['nodes', undefined],
  ['po,nope', undefined],
  ['', undefined],
])('get %s means %j', (line, meant) => {
  expect(resolveObjects(line.split(' '))).toEqual(meant);
});

const manifest = `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}}
---
apiVersion: v1
kind: Secret
metadata: {name: key}
stringData: {password: hunter2}
`;

async function get(...words: string[]): Promise<{ stdout: string; stderr: string }> {
  const rootDir = await temporaryFolder();
  await startFakeAgent(rootDir, { '/v1/snapshot': makeSnapshot([makeEntry('web-edge1')]) });
  const lastGood = new LastGoodManifests({ rootDir, clock: new FakeClock(), logger: silentLogger });
  await lastGood.save('file', '/m/web.yaml', Buffer.from(manifest));
  const deps = makeDeps(makeRuntime([], []));
  const program = new Command().exitOverride();
  register(program, deps);
  await program.parseAsync(['get', '--root-dir', rootDir, ...words], { from: 'user' });
  const { stdout, stderr } = deps.printed;
  return { stdout, stderr };
}

test('get lists the objects of a kind with the files that declare them', async () => {
  expect(await get('svc,secrets')).toEqual({
    stdout:
      'NAMESPACE   NAME          DECLARED BY\n' +
      'default     secret/key    /m/web.yaml\n' +
      'default     service/web   /m/web.yaml\n',
    stderr: '',
  });
  expect((await get('svc', '-o', 'name')).stdout).toBe('service/web\n');
  expect((await get('secret', 'key', '-o', 'json')).stdout).not.toContain('hunter2');
  expect(await get('pvc')).toEqual({ stdout: '', stderr: 'No PersistentVolumeClaim is declared.\n' });
  await expect(get('svc', 'db')).rejects.toMatchObject({ message: 'no Service "db" is declared' });
});

test('get all lists pods and Services', async () => {
  const { stdout } = await get('all', '--no-headers');
  expect(stdout.split('\n').map((line) => line.split(/ +/)[1])).toEqual(['web-edge1', 'service/web', undefined]);
});
