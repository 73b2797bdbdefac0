import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { EngineSnapshot } from '../../src/engine/view/snapshot.ts';
import { type Agent, startAgent } from './agent.ts';
import { containerdReleases } from './containerd-releases.ts';
import { makePod, serve, shell } from './manifests.ts';
import { MountNamespace } from './mount-namespace.ts';
import { RoutedNetwork } from './routed-network.ts';

interface Bundle {
  /** A file below bundles. */
  readonly bundle: string;
  /** The Service that people use, and its namespace. */
  readonly front: string;
  readonly namespace: string;
  /** The stand-ins that one request reaches, each with those that it asks. */
  readonly answer: string;
  /** The beginning of the name of a pod that completes, and what it prints. */
  readonly job?: { readonly pod: string; readonly output: string };
  /** What `apply` says of it. */
  readonly warnings: readonly string[];
}

const loadBalancer =
  'spec.type: There is no load balancer here: clients outside use the port of the node, as with type: NodePort';

/** Written as such bundles are published, for a cluster. The images of their programs are stand-ins. */
const bundles: readonly Bundle[] = [
  {
    bundle: 'grafana',
    front: 'grafana',
    namespace: 'default',
    answer: 'grafana(prometheus(grafana))',
    warnings: ['metadata.annotations[helm.sh/hook]: Helm runs this only at test: no pod is declared'],
  },
  {
    bundle: 'wordpress',
    front: 'wordpress',
    namespace: 'default',
    answer: 'wordpress(mysql)',
    warnings: [loadBalancer],
  },
  {
    bundle: 'nextcloud',
    front: 'nextcloud',
    namespace: 'nextcloud',
    answer: 'nextcloud(postgres redis)',
    job: { pod: 'nextcloud-cron-', output: 'nextcloud' },
    warnings: [
      'kind: kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
      'kind: kind "NetworkPolicy" is not supported: nothing filters the connections of pods',
    ],
  },
  {
    bundle: 'traefik',
    front: 'traefik',
    namespace: 'traefik',
    answer: 'traefik(whoami)',
    warnings: [
      loadBalancer,
      'kind: kind "IngressRoute" is not supported: custom resources need an API server and a controller',
      'kind: kind "Ingress" is not supported: nothing routes requests by host name or path; type: NodePort in a Service opens a port of this node',
    ],
  },
  { bundle: 'mosquitto-node-red', front: 'node-red', namespace: 'iot', answer: 'node-red(mosquitto)', warnings: [] },
  { bundle: 'gitea', front: 'gitea-ssh', namespace: 'gitea', answer: 'gitea(postgres)', warnings: [] },
  {
    bundle: 'minio',
    front: 'minio',
    namespace: 'minio',
    answer: 'minio(minio minio minio minio)',
    job: { pod: 'minio-post-job', output: 'minio(minio minio minio minio)\nbucket created' },
    warnings: [
      loadBalancer,
      'metadata.annotations[helm.sh/hook]: Helm runs this at post-install, post-upgrade: here it starts together with the other pods',
    ],
  },
  {
    bundle: 'prometheus-stack',
    front: 'prometheus-service',
    namespace: 'monitoring',
    answer: 'prometheus(alertmanager node-exporter kube-state-metrics)',
    warnings: ['kind: kind "ServiceMonitor" is not supported: custom resources need an API server and a controller'],
  },
  {
    bundle: 'microservices',
    front: 'frontend',
    namespace: 'default',
    answer:
      'frontend(catalog currency cart(redis) recommendation(catalog) shipping ' +
      'checkout(catalog shipping payment email currency cart(redis)) ad)',
    warnings: [loadBalancer],
  },
  {
    bundle: 'home-assistant',
    front: 'home-assistant',
    namespace: 'home-assistant',
    answer: 'home-assistant(mariadb mosquitto)',
    warnings: [],
  },
];

describe.each(containerdReleases().slice(-1))('published bundles on containerd $release', (containerd) => {
  let network: RoutedNetwork;
  let mounts: MountNamespace;
  let agent: Agent;

  beforeAll(async () => {
    // The mounts of a machine with systemd are shared, which node-exporter needs.
    [network, mounts] = await Promise.all([RoutedNetwork.create(), MountNamespace.create()]);
    await mounts.run('mount', '--make-rshared', '/');
    await mounts.run('mount', '-t', 'tmpfs', 'tmpfs', '/srv');
    agent = await startAgent({
      containerd,
      networkNamespace: network.node.path,
      mountNamespace: mounts.path,
      images: ['busybox.tar', 'stand-ins.tar'],
      manifests: { 'client.json': makePod('client', { hostNetwork: false, containers: [shell('client', serve)] }) },
    });
    await agent.untilReady('client');
  });
  afterAll(async () => {
    await agent.cleanUp();
    await Promise.all([network.remove(), mounts.remove()]);
  });

  const run = async (...words: string[]): Promise<string> => {
    const { code, stdout, stderr } = await agent.cli(words);
    // A busy agent may be slow, which a command remarks.
    expect({ words, code }, stderr).toEqual({ words, code: 0 });
    return stdout.trim();
  };
  const field = (service: string, namespace: string, path: string): Promise<string> =>
    run('get', 'svc', service, '-n', namespace, '-o', `jsonpath={.spec.${path}}`);
  const finishedPod = ({ pods }: Pick<EngineSnapshot, 'pods'>, start: string): string | undefined =>
    pods.find(({ pod: { metadata, status } }) => metadata.name.startsWith(start) && status?.phase === 'Succeeded')?.pod
      .metadata.name;
  const wget = (address: string): string[] => ['timeout', '30', 'wget', '-q', '-O', '-', `http://${address}/`];

  test.concurrent.each(bundles)(
    '$bundle runs unchanged',
    async ({ bundle, front, namespace, answer, job, warnings }) => {
      const file = join(import.meta.dirname, 'bundles', `${bundle}.yaml`);
      const { code, stdout, stderr } = await agent.cli(['apply', '-f', file]);
      const warned = [...stderr.matchAll(/: (warning|error): (.*)$/gm)].map(([, , message]) => message);
      expect({ code, warned }).toEqual({ code: 0, warned: warnings });

      const workloads = [...stdout.matchAll(/^((deployment|statefulset|daemonset)\.apps\/\S+) created$/gm)];
      await run('rollout', 'status', ...workloads.map(([, workload = '']) => workload), '--timeout', '5m');

      const [port, nodePort, clusterIP] = await Promise.all([
        field(front, namespace, 'ports[0].port'),
        field(front, namespace, 'ports[0].nodePort'),
        field(front, namespace, 'clusterIP'),
      ]);
      const fromNode = nodePort === '' ? `${clusterIP}:${port}` : `127.0.0.1:${nodePort}`;
      expect({
        fromPod: await run('exec', 'client', '--', ...wget(`${front}.${namespace}:${port}`)),
        fromNode: (await network.node.run('/bin/busybox', ...wget(fromNode))).trim(),
      }).toEqual({ fromPod: answer, fromNode: answer });

      if (job !== undefined) {
        const { pods } = await agent.until((snapshot) => finishedPod(snapshot, job.pod) !== undefined);
        expect(await run('logs', finishedPod({ pods }, job.pod) ?? '')).toBe(job.output);
      }

      const deleted = await run('delete', '-f', file);
      expect(deleted.split('\n')).toHaveLength(stdout.trim().split('\n').length);
    },
  );

  test('nothing of them is left', async () => {
    const { pods } = await agent.until(({ pods: all }) => all.length === 1);
    expect(pods.map(({ pod }) => pod.metadata.name)).toEqual(['client-edge1']);
    expect(await agent.cli(['get', 'svc'])).toEqual({ code: 0, stdout: '', stderr: 'No Service is declared.\n' });
    expect(await agent.down('--volumes')).toMatchObject({ code: 0, stderr: '' });
  });
});
