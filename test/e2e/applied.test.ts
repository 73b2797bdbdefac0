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
  expect(await run(['delete', 'web'])).toEqual({ code: 0, output: 'pod "web" deleted\n' });
  expect((await run(['ps', '-o', 'name'])).output).toBe('pod/db-edge1\n');
});
