import { serviceMark } from '../../process/service-mark.ts';

/** Exit code of an agent that `down` ended, so that systemd does not start it again. */
export const endedByDownCode = 100;

/**
 * The unit for systemd. Environment files and variables are those of kubeadm's drop-in for the kubelet, which replaces
 * the command line of a unit named `kubelet`.
 *
 * NotifyAccess stays `main`, because systemd-notify names its parent as the sender.
 *
 * Relative paths in the words begin at `folder`, if it is given.
 *
 * It has no sandbox: namespaces of mounts would hide volumes from the runtime, and filters of system calls would pass
 * on to every container of a containerd that the agent starts.
 */
export function systemdUnit(program: string, words: readonly string[], name: string, folder?: string): string {
  const environmentFiles = [...new Set(['kubelet', 'kubelet-ts', name])].map((file) => `/etc/default/${file}`);
  return `${serviceMark}
[Unit]
Description=kubelet-ts: runs Kubernetes Pods from files and URLs
Wants=network-online.target
After=network-online.target containerd.service crio.service
StartLimitIntervalSec=0

[Service]
Type=notify
# A runtime that comes later, or archives of images, may take their time.
TimeoutStartSec=infinity
WatchdogSec=60
# Of kubeadm, and for flags of this machine. systemd warns of variables that are not set.
Environment=KUBELET_CONFIG_ARGS= KUBELET_KUBEADM_ARGS= KUBELET_EXTRA_ARGS=
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
${environmentFiles.map((file) => `EnvironmentFile=-${file}\n`).join('')}# Freed memory is given back.
Environment=MALLOC_MMAP_THRESHOLD_=16384
${folder === undefined ? '' : `WorkingDirectory=${folder.replaceAll('%', '%%')}\n`}ExecStart=${[program, 'run', '--no-tui', ...words].map(unitWord).join(' ')} $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
# Reads the configuration, certificates and tokens anew.
ExecReload=/bin/kill -HUP $MAINPID
# The pods and their containerd outlive the agent.
KillMode=process
Restart=always
RestartSec=10
# The exit code after kubelet-ts down, whose pods would come back otherwise.
RestartPreventExitStatus=${endedByDownCode}
SuccessExitStatus=${endedByDownCode}
OOMScoreAdjust=-999
LimitNOFILE=1048576
TasksMax=infinity
Delegate=yes

[Install]
WantedBy=multi-user.target
`;
}

/** A word of ExecStart as systemd reads it back. */
function unitWord(word: string): string {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w./:=,@+%$-]+$/.test(escaped) ? escaped : JSON.stringify(escaped);
}
