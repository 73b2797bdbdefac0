import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { shell } from './manifests.ts';
import { RoutedNetwork } from './routed-network.ts';

const service = {
  apiVersion: 'v1',
  kind: 'Service',
  metadata: { name: 'web' },
  spec: { type: 'NodePort', selector: { app: 'web' }, ports: [{ port: 80, targetPort: 8080, nodePort: 30_080 }] },
};

const web = (version: string) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'web' },
  spec: {
    replicas: 2,
    selector: { matchLabels: { app: 'web' } },
    strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template: {
      metadata: { labels: { app: 'web' } },
      spec: {
        terminationGracePeriodSeconds: 1,
        containers: [
          shell('httpd', `mkdir /www; echo ${version} > /www/index.html; exec httpd -f -p 8080 -h /www`, {
            readinessProbe: { tcpSocket: { port: 8080 }, periodSeconds: 1 },
          }),
        ],
      },
    },
  },
});

/** Asks 200 times a second, and prints each new answer or failure. */
const client = `
import http.client, time
last = ''
while True:
  begun = time.monotonic()
  try:
    connection = http.client.HTTPConnection('10.77.0.99', 30080, timeout=10)
    connection.request('GET', '/')
    answer = connection.getresponse().read().decode().strip()
  except Exception as error: answer = 'failed: ' + repr(error)
  if answer != last or answer.startswith('failed'): print(answer, flush=True)
  last = answer
  time.sleep(max(0, 0.005 - (time.monotonic() - begun)))
`;

describe.each(containerdReleases().slice(-1))('a roll-out on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let agent: Agent;

  beforeAll(async () => {
    network = await RoutedNetwork.create();
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      manifests: { 'service.json': service, 'web.json': web('first') },
    });
    for (const name of ['web', 'web-1']) await agent.untilReady(name);
  });
  afterAll(async () => {
    await agent.cleanUp();
    await network.remove();
  });

  test('fails no request through the Service', async () => {
    const asking = spawn('nsenter', [`--net=${network.router.path}`, 'python3', '-c', client], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const answers: string[] = [];
    createInterface({ input: asking.stdout }).on('line', (line) => answers.push(line));
    await agent.write('web.json', web('second'));
    await agent.until(
      ({ pods }) =>
        pods.length === 2 &&
        pods.every(
          ({ pod }) =>
            pod.spec.containers[0]?.command?.join().includes('second') === true &&
            pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true,
        ),
    );
    asking.kill();
    expect(answers.filter((answer) => answer.startsWith('failed'))).toEqual([]);
    expect(new Set(answers)).toEqual(new Set(['first', 'second']));
  });
});
