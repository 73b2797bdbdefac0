import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { type Agent, startAgent } from './agent.ts';
import { makePod, serve, shell } from './manifests.ts';

let agent: Agent;

beforeAll(async () => {
  agent = await startAgent({
    manifests: {
      'web.yaml': makePod('web', { containers: [shell('app', serve), shell('side', serve)] }),
      'dns.yaml': makePod('dns', { namespace: 'kube-system', containers: [shell('app', serve)] }),
      'job.yaml': makePod('job', { restartPolicy: 'Never', containers: [shell('app', 'exit 3')] }),
    },
    flags: ['--node-ip', '192.0.2.7'],
  });
  await agent.untilReady('web');
  await agent.untilReady('dns');
  await agent.untilPod('job', ({ pod, worker }) => pod.status?.phase === 'Failed' && worker.state === 'finished');
});
afterAll(() => agent.cleanUp());

/** Ages as if none took a second; their column is as wide as the longest. */
const ageless = (text: string): string =>
  text
    .replace(/\b\d+m?\d*s +(?=\S)/g, '0s    ')
    .replace(/\b\d+m?\d*s\b/g, '0s')
    .replace(/AGE +/g, 'AGE   ');

/** Some times are those of the look itself. */
const timeless = (text: string): string => text.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '2026-01-01T00:00:00Z');

async function ps(...flags: string[]): Promise<object> {
  const { stdout, ...rest } = await agent.cli(['ps', ...flags]);
  return { ...rest, stdout: ageless(stdout).split('\n') };
}

describe.each(['with a running agent', 'without an agent'])('ps %s', (condition) => {
  const hasAgent = condition === 'with a running agent';
  const warning = (): string =>
    hasAgent ? '' : `warning: no kubelet-ts runs on ${agent.rootDir}: nothing restarts or probes pods\n`;
  beforeAll(async () => {
    if (!hasAgent) await agent.stop();
  });

  /** Behind the other columns, if an agent knows why the job failed. */
  const [reasonHead, reason] = hasAgent
    ? ['   REASON', '   app failed with exit code 3 (Error), and restartPolicy Never does not start it again']
    : ['', ''];

  test('lists the pods as kubectl does, and why one is not Ready', async () => {
    expect(await ps()).toEqual({
      code: 0,
      stderr: warning(),
      stdout: [
        `NAMESPACE     NAME        READY   STATUS    RESTARTS   AGE${reasonHead}`,
        `default       job-edge1   0/1     Error     0          0s ${reason}`.trimEnd(),
        'default       web-edge1   2/2     Running   0          0s',
        'kube-system   dns-edge1   1/1     Running   0          0s',
        '',
      ],
    });
  });

  test('-o wide adds the addresses, the node, how it ended last and what the pod worker does', async () => {
    // On the host network the address of the node is that of the pod.
    const [head, node] = hasAgent
      ? ['IP          NODE    HOST IP  ', '192.0.2.7   edge1   192.0.2.7']
      : ['IP       NODE     HOST IP', '<none>   <none>   <none> '];
    const [finished, synced] = hasAgent ? ['finished', 'sync'] : ['<no agent>', '<no agent>'];
    expect(await ps('-o', 'wide')).toEqual({
      code: 0,
      stderr: hasAgent
        ? (expect.stringMatching(/^node edge1: kubelet-ts \S+, containerd \S+\n$/) as string)
        : warning(),
      stdout: [
        `NAMESPACE     NAME        READY   STATUS    RESTARTS   AGE   ${head}   LAST EXIT   WORKER${hasAgent ? `  ${reasonHead}` : ''}`,
        `default       job-edge1   0/1     Error     0          0s    ${node}   Error (3)   ${finished}${reason}`,
        `default       web-edge1   2/2     Running   0          0s    ${node}   <none>      ${synced}`,
        `kube-system   dns-edge1   1/1     Running   0          0s    ${node}   <none>      ${synced}`,
        '',
      ],
    });
  });

  test('-n lists one namespace, and --no-headers only the pods', async () => {
    expect(await ps('-n', 'kube-system', '--no-headers')).toEqual({
      code: 0,
      stderr: warning(),
      stdout: ['kube-system   dns-edge1   1/1   Running   0   0s', ''],
    });
    expect(await ps('-n', 'nobody')).toEqual({ code: 0, stderr: warning(), stdout: ['No pods.', ''] });
  });

  test('loads gRPC only to ask the runtime itself', async () => {
    const coverage = join(agent.rootDir, `coverage-${hasAgent}`);
    const [command = '', ...words] = agent.commandLine(['ps']);
    await execa(command, words, { env: { ...agent.environment, NODE_V8_COVERAGE: coverage } });
    const [name = ''] = await readdir(coverage);
    const { result } = JSON.parse(await readFile(join(coverage, name), 'utf8')) as { result: { url: string }[] };
    const chunks = result.map(({ url }) => url).filter((url) => url.includes('/dist/'));
    const texts = await Promise.all(chunks.map((url) => readFile(new URL(url), 'utf8')));
    expect(texts.some((text) => text.includes('grpc-node-js/'))).toBe(!hasAgent);
  });

  test('an output that takes nothing is an error', async () => {
    const words = ['-c', 'exec "$@" >/dev/full', 'sh', ...agent.commandLine(['ps'])];
    const { exitCode, stderr } = await execa('sh', words, { env: agent.environment, reject: false });
    expect({ exitCode, stderr: stderr.split('\n').at(-1) }).toEqual({
      exitCode: 1,
      stderr: 'error: the output cannot be written: ENOSPC: no space left on device, write',
    });
  });

  test('-o name names them for scripts', async () => {
    expect(await ps('-o', 'name')).toEqual({
      code: 0,
      stderr: warning(),
      stdout: ['pod/job-edge1', 'pod/web-edge1', 'pod/dns-edge1', ''],
    });
  });

  test('-o json and -o yaml are the same Kubernetes List', async () => {
    const [json, yaml] = await Promise.all([agent.cli(['ps', '-o', 'json']), agent.cli(['ps', '-o', 'yaml'])]);
    const list = JSON.parse(json.stdout) as { items: object[] };
    expect(parse(timeless(yaml.stdout))).toEqual(JSON.parse(timeless(json.stdout)));
    expect(list).toMatchObject({
      apiVersion: 'v1',
      kind: 'List',
      items: [
        {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { namespace: 'default', name: 'job-edge1' },
          status: {
            phase: 'Failed',
            containerStatuses: [
              { name: 'app', restartCount: 0, state: { terminated: { exitCode: 3, reason: 'Error' } } },
            ],
          },
        },
        { metadata: { namespace: 'default', name: 'web-edge1' }, status: { phase: 'Running' } },
        { metadata: { namespace: 'kube-system', name: 'dns-edge1' }, status: { phase: 'Running' } },
      ],
    });
  });
});

test('a format that does not exist is an error that names the others', async () => {
  expect(await agent.cli(['ps', '-o', 'xml'])).toEqual({
    code: 1,
    stdout: '',
    stderr: 'error: --output must be wide, json, yaml, name, jsonpath=… or custom-columns=…, not "xml"\n',
  });
});
