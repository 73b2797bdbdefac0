import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call } from '../../src/server/control/control-call.ts';
import { Agent } from './agent.ts';
import { busybox, makePod, serve, shell } from './manifests.ts';

const web = (text: string): object =>
  makePod('web', { containers: [shell('app', serve, { image: busybox, env: [{ name: 'TEXT', value: text }] })] });

let agent: Agent;

beforeAll(async () => {
  agent = await Agent.create({ manifests: { 'db.json': makePod('db', { containers: [shell('app', serve)] }) } });
});
afterAll(() => agent.cleanUp());

async function run(args: readonly string[], input?: object): Promise<{ code: number | undefined; output: string }> {
  const { code, stdout, stderr } = await agent.cli(args, input && { input: JSON.stringify(input) });
  return { code, output: `${stdout}${stderr}` };
}

/** The answer of the control API. */
async function listApplied(): Promise<Record<string, unknown>[]> {
  const socketPath = join(agent.rootDir, 'kubelet-ts.sock');
  const answer = await call({ socketPath, method: 'GET', path: '/v1/applied' });
  return (JSON.parse(answer ?? '') as { objects: Record<string, unknown>[] }).objects;
}

test('applied pods outlive a kill, files win, and a deletion ends the pod', async () => {
  const early = await run(['apply', '-f', '-', '--hostname-override', 'edge1'], web('1'));
  expect(early).toEqual({
    code: 0,
    output: 'pod/web created\nNo kubelet-ts runs on this root-dir, so nothing runs yet. Start it: kubelet-ts run\n',
  });
  await agent.start();
  expect((await agent.untilReady('web')).source).toBe('applied');
  const declared = makePod('db', { containers: [shell('app', serve)] });
  const refused = await run(['apply', '-f', '-'], { apiVersion: 'v1', kind: 'List', items: [web('3'), declared] });
  const file = join(agent.manifestsFolder, 'db.json');
  expect(refused.code).toBe(1);
  expect(refused.output).toContain(`pod/db is not applied: ${file} declares Pod default/db-edge1 already`);
  const first = await listApplied();
  expect(await run(['apply', '-f', '-'], web('2'))).toEqual({ code: 0, output: 'pod/web configured\n' });
  const [second] = await listApplied();
  const listed = {
    kind: 'Pod',
    namespace: 'default',
    name: 'web',
    file: join(agent.rootDir, 'applied/pod.default.web.json'),
  };
  const revision = (number: number): object => ({
    pods: [{ namespace: 'default', name: 'web-edge1', revision: number }],
  });
  expect([first, second]).toMatchObject([[{ ...listed, ...revision(1) }], { ...listed, ...revision(2) }]);
  expect(second?.['sha256']).not.toBe(first[0]?.['sha256']);
  await agent.kill9();
  await agent.start();
  await agent.until(({ pods }) => pods.some(({ pod }) => pod.spec.containers[0]?.env?.[0]?.value === '2'));
  expect((await run(['delete', 'db'])).output).toContain(`pod "db" is declared by ${file}`);
  // On stderr it says that it waits, if that takes a while.
  expect(await agent.cli(['delete', 'web'])).toMatchObject({ code: 0, stdout: 'pod "web" deleted\n' });
  expect((await run(['ps', '-o', 'name'])).output).toBe('pod/db-edge1\n');
});

/** Each of its pods changes only when it is restarted. */
const store = (text: string): object => ({
  apiVersion: 'apps/v1',
  kind: 'StatefulSet',
  metadata: { name: 'store' },
  spec: {
    replicas: 2,
    podManagementPolicy: 'Parallel',
    selector: { matchLabels: { app: 'store' } },
    updateStrategy: { type: 'OnDelete' },
    template: {
      metadata: { labels: { app: 'store' } },
      spec: {
        hostNetwork: true,
        terminationGracePeriodSeconds: 1,
        containers: [shell('app', serve, { image: busybox, env: [{ name: 'TEXT', value: text }] })],
      },
    },
  },
});
const outputOf = async (...args: string[]): Promise<string> => (await agent.cli(args)).stdout;
const fieldOf = (path: string): Promise<string> =>
  outputOf('ps', '-l', 'app=store', '-o', `jsonpath={.items[*].${path}}`);

test('what get prints of a workload can be applied, and changes nothing that runs', async () => {
  await run(['apply', '-f', '-'], store('1'));
  await agent.untilReady('store-0');
  await agent.untilReady('store-1');
  const uids = await fieldOf('metadata.uid');
  const input = await outputOf('get', 'sts/store', '-o', 'yaml');
  expect(await agent.cli(['apply', '-f', '-'], { input })).toMatchObject({
    code: 0,
    stdout: 'statefulset.apps/store configured\n',
  });
  expect(await fieldOf('metadata.uid')).toBe(uids);
});

test('restart waits for the new pods of a workload with OnDelete', async () => {
  await run(['apply', '-f', '-'], store('2'));
  expect(await fieldOf('spec.containers[0].env[0].value')).toBe('1 1');
  const { code, stdout } = await agent.cli(['restart', 'sts/store']);
  expect({ code, lines: stdout.trimEnd().split('\n').toSorted() }).toEqual({
    code: 0,
    lines: ['pod/store-0-edge1 restarted', 'pod/store-1-edge1 restarted'],
  });
  expect(await fieldOf('spec.containers[0].env[0].value')).toBe('2 2');
  expect(await fieldOf('status.phase')).toBe('Running Running');
});

test('get and top show a workload as a whole, with and without an agent', async () => {
  const names = async (): Promise<(string | undefined)[]> =>
    (await outputOf('top', 'sts/store', '--no-headers'))
      .trim()
      .split('\n')
      .map((line) => line.split(/ +/)[1]);
  const both = ['store-0-edge1', 'store-1-edge1'];
  expect(await names()).toEqual(both);
  expect(await outputOf('get', 'sts', '--no-headers')).toMatch(/^default +statefulset.apps\/store +2\/2 +2 +2 /);
  await agent.stop();
  expect(await outputOf('get', 'sts', '--no-headers')).toMatch(/^default +statefulset.apps\/store +<unknown>\/2 /);
  expect(await names()).toEqual(both);
});
