import { describe, expect, test } from 'vitest';
import type { PodSpec } from '../../../src/api/types.ts';
import { explainPod } from '../../../src/engine/explain/explain-pod.ts';
import type { Explanation, Finding } from '../../../src/engine/explain/explanation.ts';
import type { Subject } from '../../../src/engine/explain/subject.ts';
import { reasons } from '../../../src/engine/view/reasons.ts';
import type { SandboxDelay } from '../../../src/engine/view/snapshot.ts';
import { makePod, NOW } from '../../builders/pods.ts';

const runtime = { endpoint: 'unix:///c.sock', chosenBecause: '', name: 'containerd', version: '1' };

function waysOf(more: object, reason: string, message: string): string[] {
  return explained(more, reason, message).fixes;
}

function explained(more: object, reason: string, message: string): Explanation {
  return explainPod(makeSubject(more, reason, message));
}

function makeSubject(more: object, reason: string, message: string): Subject {
  return {
    pod: makePod({ status: { phase: 'Pending' } }),
    worker: { working: false, pending: false, state: 'sync', lastSyncError: message },
    node: { runtime: { ...runtime, ...more }, pressures: [], sources: [], pods: [] },
    history: [
      { kind: 'event', podUID: '', eventType: 'Warning', reason, message, count: 1, firstAt: NOW, lastAt: NOW },
    ],
  };
}

const hostNetwork = 'Or set hostNetwork: true for a pod that may use the network of this machine.';
const withoutName = 'Or use the managed containerd, which has a network: kubelet-ts down, then start kubelet-ts again';

test.each([
  [
    'a runtime that the user named',
    { named: true, networkCommands: ['apt-get install plugins', 'kubelet-ts images pull pause'] },
    [
      'Make the runtime ready for pods: apt-get install plugins',
      'Make the runtime ready for pods: kubelet-ts images pull pause',
      `${withoutName} without --container-runtime-endpoint and $CONTAINER_RUNTIME_ENDPOINT.`,
    ],
  ],
  [
    'a runtime that was found',
    { named: false, networkCommands: ['apt-get install plugins'] },
    ['Make the runtime ready for pods: apt-get install plugins', `${withoutName}.`],
  ],
  [
    'the managed containerd',
    { managed: true, networkCommands: ['apt-get install plugins'] },
    [
      'Install the CNI plugins: apt-get install containernetworking-plugins',
      'Then restart the managed containerd: kubelet-ts down --all, and start kubelet-ts again.',
    ],
  ],
])('without a network, the fixes fit %s', (_what, more, fixes) => {
  const message = 'network is not ready: NetworkPluginNotReady: cni plugin not initialized';
  expect(waysOf(more, reasons.networkNotReady, message)).toEqual([...fixes, hostNetwork]);
});

test('a CNI configuration that cannot be read is named', () => {
  const message =
    'network is not ready: NetworkPluginNotReady: cni plugin not initialized: cni config load failed: failed to load CNI config list file ' +
    "/etc/cni/net.d/10-x.conflist: error parsing configuration list: invalid character '}' after object key: invalid cni config: failed to load cni config";
  expect(explained({ managed: true }, reasons.networkNotReady, message)).toMatchObject({
    stage: 'network',
    cause:
      "no pod network: the CNI configuration /etc/cni/net.d/10-x.conflist is not valid: invalid character '}' after object key",
    fixes: [
      'Find the line at fault: kubelet-ts doctor',
      'Correct /etc/cni/net.d/10-x.conflist, or remove it and run "kubelet-ts down --all" for the bridge of kubelet-ts.',
    ],
  });
});

test.each([
  [true, 'Add the handler in a file in containerd/conf.d of the root-dir, restart kubelet-ts, and check it'],
  [false, 'Configure the handler in the container runtime.'],
])('a missing handler leads to a runtime that has it (managed: %s)', (managed, fix) => {
  const message = 'rpc error: code = Unknown desc = no runtime for "nvidia" is configured';
  const fixes = waysOf({ managed }, reasons.failedCreatePodSandBox, message);
  expect([fixes[0]?.startsWith(fix), fixes[1]]).toEqual([true, 'Or leave spec.runtimeClassName out.']);
});

describe('a sandbox that the runtime is still creating', () => {
  const hung =
    "Look for a network plugin (CNI) that hangs: ps -eo pid,etime,args | grep -E '(opt/cni/bin|usr/lib/cni)/'";
  const creating = 'the container runtime is still creating the pod sandbox';

  test.each<[string, Partial<PodSpec>, SandboxDelay, Omit<Finding, 'evidence'>]>([
    [
      'waits for a network plugin',
      {},
      { seconds: 20, plugin: 'dhcp' },
      { stage: 'network', cause: 'waits for its network (plugin dhcp, more than 20 s)', fixes: [hung, hostNetwork] },
    ],
    [
      'has no known plugin',
      {},
      { seconds: 20 },
      { stage: 'network', cause: `${creating}; a network plugin (CNI) may hang`, fixes: [hung, hostNetwork] },
    ],
    [
      'needs no network',
      { hostNetwork: true },
      { seconds: 20 },
      { stage: 'start', cause: creating, fixes: ['Check the log of the container runtime: journalctl -u containerd'] },
    ],
  ])('%s', (_case, spec, sandboxDelay, finding) => {
    const message = 'in any words';
    const subject = makeSubject({}, reasons.sandboxDelayed, message);
    const pod = makePod({ spec, status: { phase: 'Pending' } });
    const { namespace, name } = pod.metadata;
    const evidence = [{ from: 'event SandboxDelayed', at: NOW, text: message }];
    expect(explainPod({ ...subject, pod, sandboxDelay })).toEqual({ namespace, name, ...finding, evidence });
  });

  test('is over once the runtime has answered', () => {
    const { cause } = explainPod(makeSubject({}, reasons.sandboxDelayed, 'any'));
    expect(cause).not.toContain('sandbox');
  });
});

test('a pause image that cannot be pulled is named', () => {
  const message = 'failed to get sandbox image "registry.k8s.io/pause:3.6": failed to pull image';
  expect(waysOf({}, reasons.failedCreatePodSandBox, message)).toEqual([
    'Pull it: kubelet-ts images pull registry.k8s.io/pause:3.6',
    'Correct sandbox_image in the configuration of the container runtime, or load the image into it.',
  ]);
});

test.each([
  [
    "cannot read the resolver file of this node: ENOENT: no such file or directory, open '/etc/resolv.conf'",
    'the resolver file /etc/resolv.conf of this node is missing or cannot be read',
    [
      'Check it: ls -lL /etc/resolv.conf',
      'Create it, or name another one: kubelet-ts run --resolv-conf FILE',
      'Or set dnsPolicy: None with dnsConfig.nameservers in the pod.',
    ],
  ],
  [
    'failed to set network "cni-loopback" cached result: open /var/lib/cni/results/cni-loopback-1-lo: read-only file system',
    'the container runtime cannot write to /var/lib/cni: the file system is read-only',
    ['Mount a tmpfs there, at each boot: mount -t tmpfs cni /var/lib/cni'],
  ],
  [
    'the container runtime gave the pod sandbox no IP address',
    'the container runtime gave the pod sandbox no IP address',
    ['Check the ipam part of the CNI configuration: ls /etc/cni/net.d', hostNetwork],
  ],
  [
    'the pod sandbox exited within a second of its start',
    'the pod sandbox exited within a second of its start, before its containers could run',
    [
      'Look for an exit of its pause process: kubelet-ts doctor; dmesg | tail',
      'Load the pause image of the container runtime again; its own may be damaged: kubelet-ts images list',
    ],
  ],
])('a sandbox that fails again and again has its cause: %s', (message, cause, fixes) => {
  const found = explained({}, reasons.failedCreatePodSandBox, `Failed to create pod sandbox: ${message}`);
  expect([found.cause, found.fixes]).toEqual([cause, fixes]);
});
