import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { loadManifests } from '../../src/api/objects/load-manifests.ts';
import { podUIDHash } from '../../src/engine/config/load-manifest.ts';
import { explainPod } from '../../src/engine/explain/explain-pod.ts';
import type { Explanation } from '../../src/engine/explain/explanation.ts';
import type { OperationRequest } from '../../src/engine/operations/operation.ts';
import { makeNodeConfig } from '../builders/node-config.ts';
import { codes, Refusal } from '../fakes/fake-calls.ts';
import { ManualSource } from '../fakes/manual-source.ts';
import { type Engine, World } from './world.ts';

interface Trouble {
  /** Fields of the container, in YAML. */
  container?: string;
  /** Fields of the pod's spec, in YAML lines. */
  spec?: string;
  annotations?: string;
  image?: string;
  /** Documents before and after that of the pod. */
  before?: string;
  beside?: string;
  /** Prepares the machine. */
  machine?: (world: World) => void;
  /** Happens once the engine runs. By default half a minute passes. */
  then?: (world: World, engine: Engine, source: ManualSource) => Promise<void>;
}

const refuse =
  (method: Parameters<World['runtime']['injectError']>[0], message: string) =>
  ({ runtime }: World): void => {
    runtime.injectError(method, new Refusal(codes.unknown, message), { times: Infinity });
  };
const pull = (message: string): Trouble => ({
  machine: refuse('pullImage', `failed to pull and unpack image "docker.io/acme/shop:1": ${message}`),
});
const start = (message: string): ((world: World) => void) =>
  refuse(
    'startContainer',
    `failed to create containerd task: OCI runtime create failed: runc create failed: ${message}`,
  );
const exits = (exitCode: number) => ({
  machine: ({ runtime }: World): void => {
    runtime.script('main', { exitAfterMs: 50, exitCode });
  },
});
const execs = (stdout: string) => ({
  machine: ({ runtime }: World): void => {
    runtime.scriptExec(() => ({ exitCode: 1, stdout: Buffer.from(stdout) }));
  },
});

function manifestOf({
  container = '',
  spec = '',
  annotations = '',
  image = 'acme/shop:1',
  before = '',
  beside = '',
}: Trouble): string {
  return [
    ...(before === '' ? [] : [before, '---']),
    'apiVersion: v1',
    'kind: Pod',
    `metadata: {name: shop, annotations: {${annotations}}}`,
    'spec:',
    '  containers:',
    `  - {name: main, image: ${image}, ${container}}`,
    ...(spec === '' ? [] : [`  ${spec}`]),
    ...(beside === '' ? [] : ['---', beside]),
    '',
  ].join('\n');
}

async function explained(trouble: Trouble): Promise<Explanation> {
  const world = await World.make();
  trouble.machine?.(world);
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source] });
  declare(source, manifestOf(trouble));
  await (trouble.then ?? (() => world.pass(30_000)))(world, engine, source);
  const node = engine.kubelet.snapshot();
  const [own] = node.pods.filter(({ pod }) => pod.metadata.name === 'shop-edge1');
  if (own === undefined) throw new Error('the pod is unknown');
  return explainPod({ ...own, node });
}

function declare(source: ManualSource, text: string): void {
  const options = { nodeName: 'edge1', source: 'file', origin: '/m/shop.yaml', hash: podUIDHash } as const;
  const { pods, configObjects, problems } = loadManifests(text, options);
  source.setConfigObjects(...configObjects);
  source.setDerived(...pods);
  source.complain(...problems);
}

type Row = [name: string, trouble: Trouble, stage: Explanation['stage'], cause: string, way: string];

const rows: Row[] = [
  [
    'a typo in the name of the image',
    pull('failed to resolve reference: docker.io/acme/shop:1: not found'),
    'image',
    'its registry has no image acme/shop:1',
    'Correct the name or the tag of the image.',
  ],
  [
    'a registry that is down',
    pull('failed to do request: Head "https://docker.io/v2/": dial tcp 192.0.2.7:443: connect: connection refused'),
    'image',
    'the registry docker.io cannot be reached',
    'Check the network, a proxy and the firewall: curl -v https://docker.io/v2/',
  ],
  [
    'an image of this machine that is not loaded',
    {
      image: 'localhost/shop:1',
      machine: refuse('pullImage', 'Head "http://localhost/v2/": dial tcp 127.0.0.1:80: connect: connection refused'),
    },
    'image',
    'localhost/shop:1 is not on this node, and no registry answers at localhost',
    'Load the image from an archive: kubelet-ts images load FILE',
  ],
  [
    'a registry whose name cannot be resolved',
    pull(
      'failed to do request: Head "https://docker.io/v2/": dial tcp: lookup registry-1.docker.io on 10.0.0.1:53: no such host',
    ),
    'image',
    'cannot resolve registry-1.docker.io',
    'Check the DNS of this machine: getent hosts registry-1.docker.io',
  ],
  [
    'a registry that wants a login',
    pull('failed to authorize: pull access denied, repository does not exist or may require authorization'),
    'image',
    'the registry docker.io refuses acme/shop:1: it needs a login, or the name is wrong',
    'Give credentials',
  ],
  [
    'a registry with an unknown certificate',
    pull('tls: failed to verify certificate: x509: certificate signed by unknown authority'),
    'image',
    'the certificate of the registry docker.io is not trusted',
    'Add its CA to this machine',
  ],
  [
    'an image for another processor',
    pull('no match for platform in manifest: not found'),
    'image',
    'acme/shop:1 has no variant for the processor of this node',
    'uname -m',
  ],
  [
    'an image that must not be pulled',
    { container: 'imagePullPolicy: Never' },
    'image',
    'acme/shop:1 is not on this node, and imagePullPolicy Never forbids a pull',
    'kubelet-ts images load FILE',
  ],
  ['a name that is no image', { image: 'Shop:1' }, 'image', '"Shop:1" is not an image name', 'lowercase'],
  [
    'a full disk',
    pull('write /var/lib/containerd/x: no space left on device'),
    'image',
    'the disk of this machine is full',
    'df -h',
  ],
  [
    'a command that the image does not have',
    { container: 'command: [shopd]', machine: start('exec: "shopd": executable file not found in $PATH: unknown') },
    'start',
    'its image has no command "shopd"',
    'Correct command',
  ],
  [
    'a working directory that is a file',
    {
      container: 'workingDir: /etc/passwd',
      machine: start(
        'unable to start container process: error during container init: mkdir /etc/passwd: not a directory',
      ),
    },
    'start',
    'its workingDir /etc/passwd cannot be entered: not a directory',
    'Correct workingDir',
  ],
  [
    'a working directory that its user may not enter',
    {
      container: 'workingDir: /root',
      machine: start(
        'error during container init: chdir to cwd ("/root") set in config.json failed: permission denied',
      ),
    },
    'start',
    'its workingDir /root cannot be entered: permission denied',
    'Correct workingDir',
  ],
  [
    'a memory limit that is too low to start',
    {
      container: 'resources: {limits: {memory: 1Mi}}',
      machine: start('container init was OOM-killed (memory limit too low?): unknown'),
    },
    'start',
    'its memory limit of 1Mi is too low to start',
    'Raise resources.limits.memory.',
  ],
  [
    'a key that the ConfigMap does not have',
    {
      container: 'env: [{name: A, valueFrom: {configMapKeyRef: {name: shop, key: coler}}}]',
      beside: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: shop}\ndata: {color: red}',
    },
    'start',
    'ConfigMap default/shop has no key coler',
    'Add the key coler to the manifest of ConfigMap default/shop',
  ],
  [
    'a Secret that nobody declares',
    { container: 'env: [{name: A, valueFrom: {secretKeyRef: {name: shop, key: token}}}]' },
    'start',
    'no manifest declares Secret shop',
    'Declare Secret shop in a manifest next to the pod',
  ],
  [
    'runAsNonRoot with an image of root',
    { container: 'securityContext: {runAsNonRoot: true}' },
    'start',
    'runAsNonRoot forbids it: its image runs as root',
    'Set securityContext.runAsUser',
  ],
  [
    'a postStart hook that fails',
    {
      container: 'lifecycle: {postStart: {exec: {command: [warm-up]}}}',
      ...execs('no cache'),
      then: (world, engine) => world.until(() => engine.waitingReason('shop-edge1') === 'CrashLoopBackOff'),
    },
    'start',
    'its postStart hook fails: the command exited with 1: no cache',
    'Correct lifecycle.postStart.',
  ],
  [
    'a postStart hook that still runs',
    {
      container: 'lifecycle: {postStart: {exec: {command: [warm-up]}}}',
      machine: ({ runtime }) => {
        runtime.hang('execSync');
      },
    },
    'start',
    'its postStart hook is still running',
    'Read its output: kubelet-ts logs shop',
  ],
  [
    'an init container that runs and waits',
    { spec: 'initContainers: [{name: wait, image: acme/shop:1}]' },
    'start',
    'wait: init container 1 of 1 is still running; main starts after it',
    'Read its output: kubelet-ts logs shop -c wait',
  ],
  [
    'an init container that waits for the postStart hook of a sidecar',
    {
      spec:
        'initContainers: [{name: side, image: acme/shop:1, restartPolicy: Always, ' +
        'lifecycle: {postStart: {exec: {command: [warm-up]}}}}, {name: wait, image: acme/shop:1}]',
      machine: ({ runtime }) => {
        runtime.hang('execSync');
      },
    },
    'start',
    'side: its postStart hook is still running; wait starts after it',
    'Read its output: kubelet-ts logs shop -c side',
  ],
  [
    'a sidecar whose startup probe has not succeeded',
    {
      spec:
        'initContainers: [{name: side, image: acme/shop:1, restartPolicy: Always, ' +
        'startupProbe: {initialDelaySeconds: 60, exec: {command: [check]}}}]',
    },
    'probe',
    'side: its startup probe has not succeeded yet; main starts after it',
    'Read its output: kubelet-ts logs shop -c side',
  ],
  [
    'an init container that ends again and again',
    {
      spec: 'initContainers: [{name: wait, image: acme/shop:1}]',
      machine: ({ runtime }) => {
        runtime.script('wait', { exitAfterMs: 50, exitCode: 4 });
      },
    },
    'back-off',
    'wait: exits with code 4',
    'Read its output: kubelet-ts logs -p shop -c wait',
  ],
  [
    'an init container without its image',
    { ...pull('not found'), spec: 'initContainers: [{name: wait, image: acme/wait:1}]' },
    'image',
    'wait: its registry has no image acme/wait:1',
    'Correct the name or the tag of the image.',
  ],
  [
    'a path of a volume that is missing',
    {
      container: 'volumeMounts: [{name: data, mountPath: /data}]',
      spec: 'volumes: [{name: data, hostPath: {path: /nowhere/data, type: Directory}}]',
    },
    'volume',
    'volume data: /nowhere/data is not a directory on this machine',
    'DirectoryOrCreate',
  ],
  [
    'a volume with a token, as kubectl get pod -o yaml prints it',
    {
      container: 'volumeMounts: [{name: token, mountPath: /token}]',
      spec: 'volumes: [{name: token, projected: {sources: [{serviceAccountToken: {path: token}}, {configMap: {name: kube-root-ca.crt}}]}}]\n  serviceAccountName: default',
    },
    'volume',
    'volume token: a token of a service account needs an API server',
    'Remove the volume and its volumeMounts',
  ],
  [
    'a Secret volume that nobody declares',
    {
      container: 'volumeMounts: [{name: data, mountPath: /data}]',
      spec: 'volumes: [{name: data, secret: {secretName: tls}}]',
    },
    'volume',
    'volume data: no manifest declares Secret tls',
    'optional: true',
  ],
  [
    'a claim that nobody declares',
    {
      container: 'volumeMounts: [{name: data, mountPath: /data}]',
      spec: 'volumes: [{name: data, persistentVolumeClaim: {claimName: shop}}]',
    },
    'volume',
    'volume data: no manifest declares PersistentVolumeClaim shop',
    'Declare PersistentVolumeClaim shop in a manifest next to the pod',
  ],
  [
    'a claim that no volume fits',
    {
      container: 'volumeMounts: [{name: data, mountPath: /data}]',
      spec: 'volumes: [{name: data, persistentVolumeClaim: {claimName: shop}}]',
      beside:
        'apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: shop}\n' +
        'spec: {accessModes: [ReadWriteOnce], volumeName: disk, resources: {requests: {storage: 1Gi}}}',
    },
    'volume',
    'volume data: PersistentVolumeClaim shop is not bound: persistentvolume "disk" not found',
    'Correct the claim, or declare a PersistentVolume that fits it',
  ],
  [
    'more CPU than the node has',
    { container: 'resources: {requests: {cpu: 64}}' },
    'admission',
    'it requests 64 cpu, and other pods hold 0 of the 2 of this node',
    'Lower resources.requests',
  ],
  [
    'more memory than the node has',
    { container: 'resources: {requests: {memory: 64Gi}}' },
    'admission',
    'it requests 65536Mi memory, and other pods hold 0Mi of the 1024Mi of this node',
    'Lower resources.requests',
  ],
  [
    'a nodeSelector that this node does not match',
    { spec: 'nodeSelector: {disk: ssd}' },
    'admission',
    'nodeSelector wants the label disk=ssd, and this node has none of that name',
    '--node-labels',
  ],
  [
    'a host port that another pod has',
    {
      container: 'ports: [{containerPort: 80, hostPort: 8080}]',
      before: [
        'apiVersion: v1',
        'kind: Pod',
        'metadata: {name: first}',
        'spec: {containers: [{name: main, image: acme/shop:1, ports: [{containerPort: 80, hostPort: 8080}]}]}',
      ].join('\n'),
    },
    'admission',
    'host port 8080/TCP is in use by pod default/first-edge1',
    'Choose another hostPort',
  ],
  [
    'an unknown RuntimeClass',
    { spec: 'runtimeClassName: gvisor' },
    'admission',
    'no manifest declares RuntimeClass "gvisor"',
    'Declare the class',
  ],
  [
    'a pod to wait for that nobody declares',
    { annotations: 'kubelet-ts.io/depends-on: db' },
    'start order',
    'waiting for db, which no manifest declares',
    'Declare db in a manifest',
  ],
  [
    'a network without plugins',
    {
      machine: ({ runtime }) => {
        runtime.setCondition('NetworkReady', false, 'NetworkPluginNotReady', 'cni plugin not initialized');
      },
    },
    'network',
    'no pod network: cni plugin not initialized',
    '/etc/cni/net.d',
  ],
  [
    'a CNI plugin that is missing',
    {
      machine: refuse(
        'runPodSandbox',
        'failed to setup network: failed to find plugin "bridge" in path [/opt/cni/bin]',
      ),
    },
    'network',
    'no CNI plugin "bridge" is in /opt/cni/bin',
    'Install the CNI plugins',
  ],
  [
    'a network plugin that hangs',
    {
      machine: ({ runtime }): void => {
        runtime.hang('runPodSandbox');
      },
    },
    'network',
    'the container runtime is still creating the pod sandbox; a network plugin (CNI) may hang',
    'Look for a network plugin (CNI) that hangs: ps -eo pid,etime,args',
  ],
  [
    'a sandbox that hangs without a pod network',
    {
      spec: 'hostNetwork: true',
      machine: ({ runtime }): void => {
        runtime.hang('runPodSandbox');
      },
    },
    'start',
    'the container runtime is still creating the pod sandbox',
    'Check the log of the container runtime',
  ],
  [
    'a network plugin that hung until the deadline of the call',
    {
      machine: ({ runtime }): void => {
        runtime.injectError('runPodSandbox', new Refusal(codes.deadlineExceeded, 'context deadline exceeded'), {
          times: Infinity,
        });
      },
    },
    'start',
    'the container runtime did not create the sandbox in time',
    'Look for a network plugin (CNI) that hangs: ps -eo pid,etime,args',
  ],
  [
    'an earlier sandbox that still hangs',
    { machine: refuse('runPodSandbox', 'failed to reserve sandbox name "shop": name "shop" is reserved for "4f2a"') },
    'start',
    'the container runtime did not create the sandbox in time',
    'Look for a network plugin (CNI) that hangs: ps -eo pid,etime,args',
  ],
  [
    'a sandbox without an address',
    {
      machine: ({ runtime }): void => {
        runtime.scriptPodIPs(() => []);
      },
    },
    'network',
    'the container runtime gave the pod sandbox no IP address',
    'Check the ipam part of the CNI configuration',
  ],
  [
    'a host port that another program has',
    {
      machine: refuse(
        'runPodSandbox',
        'failed to setup network: cannot open hostport 80: listen tcp4 :80: bind: address already in use',
      ),
    },
    'network',
    'another program uses a host port of the pod',
    'ss -ltnp',
  ],
  [
    'an unknown handler of the runtime',
    { machine: refuse('runPodSandbox', 'failed to get sandbox runtime: no runtime for "runsc" is configured') },
    'start',
    'the container runtime has no handler "runsc"',
    'spec.runtimeClassName',
  ],
  [
    'a subPath through a file',
    {
      container: 'volumeMounts: [{name: data, mountPath: /d, subPath: hosts/x}]',
      spec: 'volumes: [{name: data, hostPath: {path: /etc}}]',
    },
    'start',
    'a subPath of volume data cannot be mounted: not a directory',
    'Correct subPath',
  ],
  [
    'a mount that does not propagate',
    {
      container: 'volumeMounts: [{name: sys, mountPath: /host/sys, mountPropagation: HostToContainer}]',
      spec: 'volumes: [{name: sys, hostPath: {path: /sys}}]',
      machine: refuse(
        'createContainer',
        'failed to generate spec: path "/sys" is mounted on "/sys" but it is not a shared or slave mount',
      ),
    },
    'start',
    'its mountPropagation needs shared mounts, but /sys is on /sys, which is private on this machine',
    'mount --make-rshared /sys',
  ],
  ['a crash', exits(1), 'back-off', 'exits with code 1', 'kubelet-ts logs -p shop'],
  [
    'a script with a missing command',
    exits(127),
    'back-off',
    'its command, or one in its script, is not in its image (exit code 127)',
    'Correct command.',
  ],
  [
    'success, again and again',
    exits(0),
    'back-off',
    'exits with code 0, and restartPolicy Always starts it again',
    'Set restartPolicy: OnFailure',
  ],
  [
    'an init container that fails',
    {
      spec: 'initContainers: [{name: setup, image: acme/shop:1}]',
      machine: ({ runtime }) => {
        runtime.script('setup', { exitAfterMs: 50, exitCode: 3 });
      },
    },
    'back-off',
    'setup: exits with code 3',
    'kubelet-ts logs -p shop -c setup',
  ],
  [
    'a memory limit that is too low to run',
    {
      container: 'resources: {limits: {memory: 64Mi}}',
      then: async (world, engine) => {
        for (let time = 0; time < 2; time += 1) {
          await world.until(() => world.runtime.running().length > 0);
          world.runtime.exitContainer({ pod: 'shop-edge1', container: 'main' }, 137, { oom: true });
          await world.until(() => world.runtime.running().length === 0);
        }
        await world.until(() => engine.waitingReason('shop-edge1') === 'CrashLoopBackOff');
      },
    },
    'back-off',
    'needs more than its memory limit of 64Mi (OOMKilled)',
    'Raise resources.limits.memory.',
  ],
  [
    'a readiness command that fails',
    { container: 'readinessProbe: {exec: {command: [check, db]}}', ...execs('db is away') },
    'probe',
    'readiness probe: the command "check db" fails: db is away',
    'kubelet-ts exec shop -c main -- check db',
  ],
  [
    'a liveness probe of the wrong port',
    {
      container: 'livenessProbe: {httpGet: {host: 127.0.0.1, port: 1}, periodSeconds: 1, failureThreshold: 1}',
      then: (world, engine) => world.until(() => engine.waitingReason('shop-edge1') === 'CrashLoopBackOff'),
    },
    'probe',
    'it is killed by its liveness probe: nothing listens on port 1 of 127.0.0.1',
    'Correct the port of the probe.',
  ],
  [
    'a runtime that is not ready any more',
    {
      then: async (world, engine) => {
        await world.until(() => engine.isReady('shop-edge1'));
        world.runtime.setCondition('RuntimeReady', false, 'Broken', 'the shim is gone');
        await world.until(() => engine.kubelet.snapshot().runtime.error !== undefined);
      },
    },
    'runtime',
    'the container runtime is not ready: container runtime not ready: Broken: the shim is gone',
    'systemctl status containerd',
  ],
  [
    'a second manifest of the same name',
    { beside: manifestOf({}) },
    'manifest',
    '/m/shop.yaml:10:18: metadata.name: Pod default/shop-edge1 is declared on line 3 already',
    'Remove one of them, or change it.',
  ],
  [
    'a deadline that passed',
    { spec: 'activeDeadlineSeconds: 5' },
    'finished',
    'DeadlineExceeded: Pod was active on the node longer than the specified deadline',
    'Raise spec.activeDeadlineSeconds.',
  ],
  [
    'a container that may not be started again',
    { spec: 'restartPolicy: Never', ...exits(4) },
    'finished',
    'main failed with exit code 4 (Error), and restartPolicy Never does not start it again',
    'kubelet-ts logs shop',
  ],
  [
    'a container that may not be started again beside one that runs',
    {
      spec: '- {name: task, image: acme/shop:1}\n  restartPolicy: Never',
      machine: ({ runtime }) => {
        runtime.script('task', { exitAfterMs: 50, exitCode: 4 });
      },
    },
    'finished',
    'task failed with exit code 4 (Error), and restartPolicy Never does not start it again',
    'kubelet-ts logs shop -c task',
  ],
  [
    'a full emptyDir',
    {
      container: 'volumeMounts: [{name: cache, mountPath: /cache}]',
      spec: 'volumes: [{name: cache, emptyDir: {sizeLimit: 64Ki}}]',
      then: async (world, engine) => {
        await world.until(() => engine.isReady('shop-edge1'));
        const uid = engine.pod('shop-edge1')?.pod.metadata.uid ?? '';
        const folder = join(world.rootDir, 'pods', uid, 'volumes', 'kubernetes.io~empty-dir', 'cache');
        await writeFile(join(folder, 'file'), Buffer.alloc(128 * 1024, 1));
        await world.until(() => engine.pod('shop-edge1')?.worker.state === 'finished');
      },
    },
    'evicted',
    'Usage of EmptyDir volume "cache" exceeds the limit "64Ki".',
    'Raise the limit',
  ],
  [
    'pods that wait for each other',
    {
      annotations: 'kubelet-ts.io/depends-on: db',
      beside: [
        'apiVersion: v1',
        'kind: Pod',
        'metadata: {name: db, annotations: {kubelet-ts.io/depends-on: shop}}',
        'spec: {containers: [{name: main, image: acme/shop:1}]}',
      ].join('\n'),
    },
    'start order',
    'default/shop waits for default/db, which waits for default/shop',
    'Remove one of these annotations',
  ],
  [
    'a mount point in a read-only root',
    { machine: start('error mounting "/x" to rootfs at "/data": mkdir /data: read-only file system: unknown') },
    'start',
    'a mount point cannot be created in the read-only root of its image',
    'readOnlyRootFilesystem',
  ],
  [
    'a machine without cgroups left',
    { machine: start('unable to apply cgroup configuration: mkdir /sys/fs/cgroup/memory/x: no space left on device') },
    'start',
    'this machine has no cgroups left',
    'cat /proc/cgroups',
  ],
  [
    'a machine without processes left',
    { machine: start('unable to start container process: fork/exec /proc/self/exe: resource temporarily unavailable') },
    'start',
    'this machine or the cgroup of the pod has no processes left',
    'kubelet-ts top',
  ],
  [
    'a pod that an operator stopped',
    {
      then: async (world, engine) => {
        await world.until(() => engine.isReady('shop-edge1'));
        await operate(world, engine, 'stop');
        await world.until(() => engine.pod('shop-edge1')?.worker.state === 'finished');
      },
    },
    'stopped',
    'an operator stopped it',
    'kubelet-ts start shop',
  ],
  [
    'a pod that an operator holds',
    {
      then: async (world, engine, source) => {
        await world.until(() => engine.isReady('shop-edge1'));
        await operate(world, engine, 'hold');
        declare(source, manifestOf({ container: 'env: [{name: COLOUR, value: red}]' }));
        await world.until(() => engine.pod('shop-edge1')?.waitingUpdate !== undefined);
      },
    },
    'held',
    'held by kubelet-ts hold; revision 1 runs',
    'kubelet-ts unhold shop',
  ],
  [
    'an update that waits for a lock file',
    {
      then: async (world, engine, source) => {
        await world.until(() => engine.isReady('shop-edge1'));
        declare(
          source,
          manifestOf({
            container: 'env: [{name: COLOUR, value: red}]',
            annotations: 'kubelet-ts.io/update-lock: /etc/passwd',
          }),
        );
        await world.until(() => engine.pod('shop-edge1')?.waitingUpdate !== undefined);
      },
    },
    'held',
    'updates wait while /etc/passwd exists; revision 1 runs',
    'Remove the lock file',
  ],
];

/** What an operator asks for, done. */
async function operate(world: World, engine: Engine, action: OperationRequest['action']): Promise<void> {
  let isDone = false;
  const pod = { namespace: 'default', name: 'shop-edge1' };
  const asked = engine.kubelet.operate({ action, pod }).then(() => (isDone = true));
  await world.until(() => isDone);
  await asked;
}

describe('explain names the true cause of, and a fix for', () => {
  test.each(rows)('%s', async (_name, trouble, stage, cause, fix) => {
    const explanation = await explained(trouble);
    expect({ stage: explanation.stage, cause: explanation.cause }).toEqual({ stage, cause });
    expect(explanation.fixes.join('\n')).toContain(fix);
  });
});

test('a resolver file that is missing is the cause, also after a stop and a start', async () => {
  const world = await World.make();
  const resolvConf = join(world.folder, 'resolv.conf');
  const source = new ManualSource();
  const engine = await world.boot({ sources: [source], node: makeNodeConfig(world.folder, { resolvConf }) });
  const explain = (): Explanation[] => {
    const node = engine.kubelet.snapshot();
    return node.pods.map((own) => explainPod({ ...own, node }));
  };
  declare(source, manifestOf({}));
  await world.until(() => engine.messages('FailedCreatePodSandBox').length > 0);
  const missing = explain();
  await writeFile(resolvConf, 'nameserver 192.0.2.53\n');
  await world.until(() => engine.isReady('shop-edge1'));
  await operate(world, engine, 'stop');
  await world.until(() => engine.pod('shop-edge1')?.worker.state === 'finished');
  await rm(resolvConf);
  await operate(world, engine, 'start');
  await world.until(() => engine.messages('FailedCreatePodSandBox').length > 1);
  await world.pass(5000);
  for (const explanation of [...missing, ...explain()])
    expect(explanation).toMatchObject({
      stage: 'start',
      cause: `the resolver file ${resolvConf} of this node is missing or cannot be read`,
    });
});

test('a task that failed once and then succeeded is no trouble next to a container that runs', async () => {
  const explanation = await explained({
    spec: '- {name: task, image: acme/shop:1}\n  restartPolicy: OnFailure',
    then: async (world) => {
      for (const exitCode of [1, 0]) {
        await world.until(() => world.runtime.running().length === 2);
        world.runtime.exitContainer({ pod: 'shop-edge1', container: 'task' }, exitCode);
        await world.until(() => world.runtime.running().length === 1);
      }
      await world.pass(30_000);
    },
  });
  expect(explanation).toMatchObject({ stage: 'running', fixes: [] });
});

test.each([
  ['envFrom: [{secretRef: {name: gone, optional: true}}, {configMapRef: {name: gone}}]', 'envFrom[1].configMapRef'],
  ['envFrom: [{secretRef: {name: gone}}]', 'envFrom[0].secretRef'],
  [
    'env: [{name: A, value: a}, {name: B, valueFrom: {configMapKeyRef: {name: gone, key: b}}}]',
    'env[1].valueFrom.configMapKeyRef',
  ],
])('the field that names a missing object is named: %s', async (container, field) => {
  expect((await explained({ container })).field).toBe(`spec.containers[0].${field}`);
});
