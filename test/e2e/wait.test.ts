import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.cleanUp());

const revision = (version: number): object =>
  makePod('web', { containers: [{ ...shell('app', serve), env: [{ name: 'VERSION', value: String(version) }] }] });

/** Writes in place, as an editor that makes no copy does. */
const edit = (manifest: object): Promise<void> =>
  writeFile(join(agent.manifestsFolder, 'web.yaml'), JSON.stringify(manifest));

const waitsFor = ({ pod }: PodSnapshot): string | undefined =>
  pod.status?.containerStatuses?.[0]?.state?.waiting?.reason;
const wait = (...args: string[]): Promise<object> => agent.cli(['wait', 'web', ...args]);
const met = { code: 0, stdout: 'pod/web condition met\n', stderr: '' };

test('right after an edit it waits for the pod of the edited manifest', async () => {
  for (const version of [1, 2, 3]) {
    await edit(revision(version));
    expect(await wait('--for', version === 2 ? 'updated' : 'ready')).toEqual(met);
    const { stdout } = await agent.cli(['exec', 'web', '--', 'sh', '-c', 'echo $VERSION']);
    expect(stdout).toBe(`${version}\n`);
  }
});

test('an edit that cannot start is waited for, and ps shows it in the row of the pod that runs', async () => {
  const { pod } = await agent.untilReady('web');
  const typo = { image: 'localhost/typo:1', imagePullPolicy: 'Never' };
  await edit(makePod('web', { containers: [shell('app', serve, typo)] }));
  const reason = 'ErrImageNeverPull';
  await agent.until(({ pods }) => pods.some((entry) => waitsFor(entry) === reason));
  for (const condition of ['ready', 'updated']) {
    expect(await wait('--for', condition, '--timeout', '2s')).toEqual({
      code: 1,
      stdout: '',
      stderr:
        `error: timed out before these pods were ${condition}: web (${reason})\n` +
        'hint: kubelet-ts ps shows their state.\n',
    });
  }
  const { stdout } = await agent.cli(['ps', '--no-headers']);
  expect(stdout.split('\n')).toEqual([
    expect.stringMatching(/^default +web-edge1 +1\/1 +Running \(update: ErrImageNeverPull\) +0 /),
    '',
  ]);
  const { items } = JSON.parse((await agent.cli(['ps', '-o', 'json'])).stdout) as { items: { metadata: object }[] };
  expect(items.map(({ metadata }) => metadata)).toMatchObject([
    { name: 'web-edge1', uid: pod.metadata.uid },
    { name: 'web-edge1' },
  ]);
  expect((await agent.cli(['ps', '-o', 'name'])).stdout).toBe('pod/web-edge1\n');
  await edit(revision(4));
  expect(await wait('--for', 'updated')).toEqual(met);
});

test('a workload is waited for by its name', async () => {
  const metadata = { name: 'shop', labels: { app: 'shop' } };
  const { spec } = makePod('shop', { containers: [shell('app', serve)] }) as { spec: object };
  await agent.write('shop.yaml', {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata,
    spec: { selector: { matchLabels: metadata.labels }, template: { metadata, spec } },
  });
  const shop = { code: 0, stdout: 'deployment.apps/shop condition met\n', stderr: '' };
  expect(await agent.cli(['wait', 'deployment/shop', '--for=condition=Available'])).toEqual(shop);
  expect(await agent.cli(['wait', '-n', 'default', 'deployment.apps/shop'])).toEqual(shop);
  await agent.remove('shop.yaml');
  expect(await agent.cli(['wait', 'deploy/shop', '--for', 'deleted'])).toEqual({
    ...shop,
    stdout: expect.stringMatching(/^pod\/(default\/)?shop condition met\n$/) as string,
  });
});

test('all pods, pods with a label, and a field are waited for', async () => {
  const waitWith = (...args: string[]): Promise<object> => agent.cli(['wait', ...args]);
  const job = { labels: { app: 'job' }, restartPolicy: 'Never', containers: [shell('app', 'exit 0')] } as const;
  await agent.write('job.yaml', makePod('job', { ...job, containers: [...job.containers] }));
  expect(await waitWith('job', '--for=jsonpath={.status.phase}=Succeeded')).toEqual({
    code: 0,
    stdout: 'pod/job condition met\n',
    stderr: '',
  });
  expect(await waitWith('-l', 'app=job', '--for', 'completed')).toEqual({
    code: 0,
    stdout: 'pod/default/job-edge1 condition met\n',
    stderr: '',
  });
  // A job that has completed keeps nothing waiting.
  expect(await waitWith('--all')).toEqual({
    code: 0,
    stdout: 'pod/default/job-edge1 condition met\npod/default/web-edge1 condition met\n',
    stderr: '',
  });
  await agent.remove('job.yaml');
  expect(await waitWith('job', '--for', 'deleted')).toMatchObject({ code: 0 });
  expect(await waitWith('pods', '--all')).toEqual({
    code: 0,
    stdout: 'pod/default/web-edge1 condition met\n',
    stderr: '',
  });
});

test('a manifest that is removed is waited for to its end', async () => {
  await agent.remove('web.yaml');
  expect(await wait('--for', 'deleted')).toEqual(met);
  expect((await agent.cli(['ps', '--no-headers'])).stdout).toBe('');
});
