import { serviceMark } from '../../process/service-mark.ts';
import { shellWord } from '../../text/shell-word.ts';
import type { ServiceProgram } from './service-program.ts';

/**
 * The script for OpenRC. Its supervise-daemon restarts the agent when it exits, without `start_pre`, so the guard is
 * what it starts, and becomes the agent. Relative paths in the args are resolved from `folder`, if given.
 */
export function openRCScript(
  { program, guard }: ServiceProgram,
  args: readonly string[],
  name: string,
  folder?: string,
): string {
  const words = [program, 'run', '--no-tui', ...args];
  const [first = '', ...rest] = guard === undefined ? words : ['/bin/sh', guard.script, guard.program, ...words];
  const command = rest.map(shellWord).join(' ');
  return `#!/sbin/openrc-run
${serviceMark}
name="${name}"
description="Runs Kubernetes Pods from files and URLs"
supervisor="supervise-daemon"
command=${shellWord(first)}
# supervise-daemon reads the words again, so they are quoted twice. Flags of this machine: /etc/conf.d/${name}
command_args=${shellWord(command)}
${folder === undefined ? '' : `directory=${shellWord(shellWord(folder))}\n`}respawn_delay=10
respawn_max=0
output_log="/var/log/${name}.log"
error_log="/var/log/${name}.log"
rc_ulimit="-n 1048576"
# Returns freed memory to the system.
export MALLOC_MMAP_THRESHOLD_=16384

extra_started_commands="reload"

depend() {
  use net containerd crio
  after firewall
}

start_pre() {
  if [ -r /var/lib/kubelet/kubeadm-flags.env ]; then
    . /var/lib/kubelet/kubeadm-flags.env
    command_args="\${command_args} \${KUBELET_KUBEADM_ARGS}"
  fi
  command_args="\${command_args} \${KUBELET_EXTRA_ARGS}"
}

reload() {
  ebegin "Reloading \${RC_SVCNAME}"
  supervise-daemon "\${RC_SVCNAME}" --signal HUP
  eend $?
}
`;
}
