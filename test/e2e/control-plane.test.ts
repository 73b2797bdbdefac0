import { mkdtemp, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { managedPaths } from '../../src/containerd/managed-paths.ts';
import type { PodSnapshot } from '../../src/engine/view/snapshot.ts';
import { Agent, isReady } from './agent.ts';
import { MountNamespace } from './mount-namespace.ts';
import { NetworkNamespace } from './network-namespace.ts';
import { program } from './program.ts';

const images = {
  'registry.k8s.io/etcd:3.5.16-0': 'localhost/etcd:3',
  'registry.k8s.io/kube-apiserver:v1.32.10': 'localhost/control-plane:1',
  'registry.k8s.io/kube-controller-manager:v1.32.10': 'localhost/control-plane:1',
  'registry.k8s.io/kube-scheduler:v1.32.10': 'localhost/control-plane:1',
  'registry.k8s.io/kube-scheduler:v1.33.0': 'localhost/control-plane:1',
};
const components = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler'];

/** As the unit of the kubelet and kubeadm's drop-in start it. */
const unit = `
set -e
KUBELET_KUBECONFIG_ARGS="--bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf"
KUBELET_CONFIG_ARGS="--config=/var/lib/kubelet/config.yaml"
. /var/lib/kubelet/kubeadm-flags.env
exec "$0" $KUBELET_KUBECONFIG_ARGS $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS "$@"`;

/** Writes the files of kubeadm where it does, and gives the machine its address. */
const initialize = `
mkdir -p /etc/kubernetes/manifests /var/lib/kubelet /run/containerd
cp "$0"/manifests/* /etc/kubernetes/manifests
cp "$0"/config.yaml "$0"/instance-config.yaml "$0"/kubeadm-flags.env /var/lib/kubelet
"$0"/certificates.sh 2>/dev/null
ln -s "$1" /run/containerd/containerd.sock`;

let layer: string;
let mounts: MountNamespace;
let network: NetworkNamespace;
let agent: Agent;

// The pods of kubeadm have fixed ports and paths: the network and the file system are of this test alone.
beforeAll(async () => {
  layer = await mkdtemp('/tmp/kts-layer-');
  [mounts, network] = await Promise.all([MountNamespace.overRoot(layer), NetworkNamespace.create()]);
  await network.run('ip', 'address', 'add', '192.0.2.10/32', 'dev', 'lo');
  agent = await Agent.create({
    images: ['etcd.tar', 'control-plane.tar'],
    mountNamespace: mounts.path,
    networkNamespace: network.path,
  });
  const files = join(import.meta.dirname, 'kubeadm');
  const socket = managedPaths(agent.rootDir).endpoint.slice('unix://'.length);
  // Leaves a containerd with the images, as a machine of kubeadm has one before `kubeadm init`.
  await Promise.all([agent.start(), mounts.run('sh', '-ec', initialize, files, socket)]);
  const tags = Object.entries(images).map(([name, stored]) => agent.cli(['images', 'tag', stored, name]));
  expect((await Promise.all(tags)).map(({ code }) => code)).toEqual([0, 0, 0, 0, 0]);
  await agent.stop();
});
afterAll(async () => {
  await agent.cleanUp();
  await Promise.all([mounts.remove(), network.remove()]);
  await rm(layer, { recursive: true });
});

function startKubelet(): Promise<void> {
  const extra = [
    ...['--root-dir', agent.rootDir, '--pod-logs-dir', agent.podLogsDir, '--cgroup-root', agent.cgroupRoot],
    ...['--hostname-override', 'edge1', '--log-format', 'json', '--log-level', 'debug'],
  ];
  const namespaces = [`--net=${network.path}`, `--mount=${mounts.path}`];
  return agent.startBy(['nsenter', ...namespaces, 'sh', '-c', unit, join(dirname(program), 'kubelet'), ...extra]);
}

const running = (): Promise<{ id: string; pid: number }[]> =>
  Promise.all(components.map((name) => agent.runningContainer(name)));

/** How often each container was restarted, as soon as `isSo` is true of every pod. */
async function restarts(isSo: (pod: PodSnapshot) => boolean): Promise<Record<string, number[] | undefined>> {
  const counts = components.map(async (name): Promise<[string, number[] | undefined]> => {
    const { pod } = await agent.untilPod(name, isSo);
    return [name, pod.status?.containerStatuses?.map(({ restartCount }) => restartCount)];
  });
  return Object.fromEntries(await Promise.all(counts));
}

/** Its containers run after the agent has synced it: nothing of it is to be done. */
const isRunning = ({ pod, worker }: PodSnapshot): boolean =>
  worker.lastSyncAt !== undefined &&
  (pod.status?.containerStatuses?.some(({ state }) => state?.running !== undefined) ?? false);

const neverRestarted = Object.fromEntries(components.map((name) => [name, [0]]));

test('the files and static pods of kubeadm init come up under the name of the kubelet', async () => {
  await startKubelet();
  expect(await restarts(isReady)).toEqual(neverRestarted);
  expect(await network.run('busybox', 'wget', '-q', '-O', '-', 'http://127.0.0.1:10248/healthz')).toBe('ok');
  const { pods } = await agent.until(() => true);
  const facts = pods.map(({ pod: { metadata, spec, status } }) => [
    metadata.name,
    spec.priority,
    status?.phase,
    metadata.annotations?.['kubernetes.io/config.hash'] === metadata.uid,
  ]);
  expect(facts.sort()).toEqual(components.map((name) => [`${name}-edge1`, 2_000_001_000, 'Running', true]));
});

/** The status of a request to the HTTPS API with the client certificate of the API server. */
function asApiServer(path: string, ...more: string[]): Promise<string> {
  const pair = '/etc/kubernetes/pki/apiserver-kubelet-client';
  const credentials = ['--cert', `${pair}.crt`, '--key', `${pair}.key`];
  const curl = ['curl', '-sk', ...credentials, '-o', '/dev/null', '-w', '%{http_code}', ...more];
  return network.run('nsenter', `--mount=${mounts.path}`, ...curl, `https://192.0.2.10:10250${path}`);
}

test('the API server of kubeadm gets logs, exec and metrics, but no checkpoint', async () => {
  const container = 'kube-system/etcd-edge1/etcd';
  expect({
    logs: await asApiServer(`/containerLogs/${container}?tailLines=1`),
    exec: await asApiServer(`/run/${container}?cmd=etcdctl&cmd=version`, '-X', 'POST'),
    pods: await asApiServer('/pods'),
    metrics: await asApiServer('/metrics/resource'),
    stats: await asApiServer('/stats/summary'),
    checkpoint: await asApiServer(`/checkpoint/${container}`, '-X', 'POST'),
  }).toEqual({ logs: '200', exec: '200', pods: '200', metrics: '200', stats: '200', checkpoint: '403' });
});

test('the control plane runs on while the kubelet is killed, and the next one restarts nothing', async () => {
  const before = await running();
  await agent.kill9();
  expect(await running()).toEqual(before);
  await startKubelet();
  // Ready again is up to the startup probes, each at a random moment of its first period, as with the kubelet.
  expect(await restarts(isRunning)).toEqual(neverRestarted);
  expect(await running()).toEqual(before);
});

test('a manifest that kubeadm writes for an upgrade restarts that component alone, and so does restart', async () => {
  const { pod: earlier } = await agent.untilPod('kube-scheduler', isRunning);
  const before = await running();
  // As kubeadm writes it: in place.
  const upgrade = 'text=$(sed s/v1.32.10/v1.33.0/ "$0"); printf "%s\\n" "$text" > "$0"';
  await mounts.run('sh', '-ec', upgrade, '/etc/kubernetes/manifests/kube-scheduler.yaml');
  const restarted = (pod: PodSnapshot): boolean =>
    isRunning(pod) && pod.pod.status?.containerStatuses?.[0]?.restartCount === 1;
  const { pod } = await agent.untilPod('kube-scheduler', restarted);
  expect([pod.metadata.uid, pod.spec.containers[0]?.image]).toEqual([
    earlier.metadata.uid,
    'registry.k8s.io/kube-scheduler:v1.33.0',
  ]);
  expect(await agent.cli(['restart', 'kube-apiserver'])).toMatchObject({ code: 0, stderr: '' });
  await agent.untilPod('kube-apiserver', restarted);
  const isSame = (await running()).map(({ id }, index) => id === before[index]?.id);
  expect(Object.fromEntries(components.map((name, index) => [name, isSame[index]]))).toEqual({
    etcd: true,
    'kube-apiserver': false,
    'kube-controller-manager': true,
    'kube-scheduler': false,
  });
});

test('down leaves the manifests and the data to a kubelet of Kubernetes, and nothing in the runtime', async () => {
  const { code, stdout, stderr } = await agent.down('--config', '/var/lib/kubelet/config.yaml');
  expect({ code, stdout: stdout.split('\n').sort(), stderr }).toEqual({
    code: 0,
    stdout: ['', 'kubelet-ts stopped', ...components.map((name) => `pod kube-system/${name}-edge1 removed`)].sort(),
    stderr: '',
  });
  const connection = await agent.connect();
  try {
    const { items } = await connection.runtime.listPodSandbox({});
    const { containers } = await connection.runtime.listContainers({});
    expect({ items, containers }).toEqual({ items: [], containers: [] });
  } finally {
    connection.close();
  }
  expect(await mounts.run('ls', '/etc/kubernetes/manifests')).toBe(components.map((name) => `${name}.yaml`).join('\n'));
  expect(await mounts.run('ls', '/var/lib/etcd')).toBe('member');
});
