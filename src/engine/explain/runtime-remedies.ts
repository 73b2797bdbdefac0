import { dirname } from 'node:path';
import { shellWord } from '../../text/shell-word.ts';
import type { RuntimeSnapshot } from '../view/snapshot.ts';
import type { Subject } from './subject.ts';

/** Returns how to check a container runtime and how to restart it. */
export function runtimeRemedies(runtime: RuntimeSnapshot): string[] {
  const folder = ownFolder(runtime);
  if (folder !== undefined) {
    return [
      `Check its log: ${runtimeLogCommand(runtime)}`,
      `kubelet-ts starts it again when it exits. Its pid: cat ${shellWord(`${folder}/containerd.pid`)}`,
    ];
  }
  const service = serviceOf(runtime);
  return [
    `Check it: systemctl status ${service}; ${runtimeLogCommand(runtime)}`,
    `Restart it: systemctl restart ${service}`,
  ];
}

/** Returns the remedy for an error of the container runtime with an unknown message. */
export function readRuntimeLog({ node }: Subject): string {
  const command = node === undefined ? 'journalctl -u containerd' : runtimeLogCommand(node.runtime);
  return `Check the log of the container runtime: ${command}`;
}

function runtimeLogCommand(runtime: RuntimeSnapshot): string {
  const folder = ownFolder(runtime);
  return folder === undefined
    ? `journalctl -u ${serviceOf(runtime)}`
    : `tail -n 50 ${shellWord(`${folder}/containerd.log`)}`;
}

/** Returns the folder of the managed containerd. Returns undefined for another runtime. */
function ownFolder({ endpoint, managed }: RuntimeSnapshot): string | undefined {
  return managed === true ? dirname(endpoint.replace(/^unix:\/\//, '')) : undefined;
}

/** Returns the systemd unit that packages and k3s install. A runtime that never answered has no name. */
function serviceOf({ name, endpoint }: RuntimeSnapshot): string {
  if (name === 'cri-o' || endpoint.endsWith('/crio.sock')) return 'crio';
  if (endpoint.endsWith('/cri-dockerd.sock')) return 'cri-docker';
  return endpoint.includes('/k3s/') ? 'k3s' : 'containerd';
}
