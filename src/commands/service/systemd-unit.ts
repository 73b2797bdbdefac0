import { serviceMark } from '../../process/service-mark.ts';
import type { ServiceProgram } from './service-program.ts';

/** Exit code of an agent that `down` stopped, so that systemd does not start it again. */
export const stoppedByDownCode = 100;

/**
 * The unit for systemd. Its environment files and variables are those of kubeadm's drop-in for the kubelet, which
 * replaces the command line of a unit named `kubelet`.
 *
 * NotifyAccess stays `main`, because systemd-notify reports its parent as the sender.
 *
 * Relative paths in the args are resolved from `folder`, if given. A start that hangs fails after TimeoutStartSec,
 * which an agent extends as long as it waits for its runtime or loads images.
 *
 * It has no sandbox: mount namespaces would hide volumes from the runtime, and every container of a containerd that the
 * agent starts would inherit the system call filters.
 */
export function systemdUnit(
  { program, guard }: ServiceProgram,
  args: readonly string[],
  name: string,
  folder?: string,
): string {
  const environmentFiles = [...new Set(['kubelet', 'kubelet-ts', name])].map((file) => `/etc/default/${file}`);
  return `${serviceMark}
[Unit]
Description=kubelet-ts: runs Kubernetes Pods from files and URLs
Wants=network-online.target
After=network-online.target containerd.service crio.service
StartLimitIntervalSec=0

[Service]
Type=notify
# The agent extends it while it waits for a runtime that starts later, or loads image archives.
TimeoutStartSec=300
WatchdogSec=60
# Variables of kubeadm, and for flags of this machine. systemd warns about variables that are not set.
Environment=KUBELET_CONFIG_ARGS= KUBELET_KUBEADM_ARGS= KUBELET_EXTRA_ARGS=
EnvironmentFile=-/var/lib/kubelet/kubeadm-flags.env
${environmentFiles.map((file) => `EnvironmentFile=-${file}\n`).join('')}# Returns freed memory to the system.
Environment=MALLOC_MMAP_THRESHOLD_=16384
${folder === undefined ? '' : `WorkingDirectory=${folder.replaceAll('%', '%%')}\n`}${guard === undefined ? '' : guardLines(guard)}ExecStart=${[program, 'run', '--no-tui', ...args].map(unitArg).join(' ')} $KUBELET_CONFIG_ARGS $KUBELET_KUBEADM_ARGS $KUBELET_EXTRA_ARGS
# Reloads the configuration, certificates and tokens.
ExecReload=/bin/kill -HUP $MAINPID
# The pods and their containerd keep running without the agent.
KillMode=process
Restart=always
RestartSec=10
# Does not restart the agent after kubelet-ts down, which stopped its pods.
RestartPreventExitStatus=${stoppedByDownCode}
SuccessExitStatus=${stoppedByDownCode}
OOMScoreAdjust=-999
LimitNOFILE=1048576
TasksMax=infinity
Delegate=yes

[Install]
WantedBy=multi-user.target
`;
}

const guardLines = ({ script, program }: NonNullable<ServiceProgram['guard']>): string => `\
# Restores the previous program if an upgrade never became healthy.
ExecStartPre=-/bin/sh ${unitArg(script)} ${unitArg(program)}
`;

/** An arg of ExecStart, quoted for systemd. */
function unitArg(word: string): string {
  const escaped = word.replaceAll('%', '%%').replaceAll('$', '$$$$');
  return /^[\w./:=,@+%$-]+$/.test(escaped) ? escaped : JSON.stringify(escaped);
}
