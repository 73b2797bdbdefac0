import { type Command, Option } from 'commander';

/** Where the agent keeps its state, and by that which agent and which managed containerd a command means. */
export const defaultRootDir = '/var/lib/kubelet-ts';

/** Adds the flags by which every command finds the agent and the runtime. */
export function addRuntimeOptions(command: Command): Command {
  return command
    .addOption(
      new Option('--root-dir <path>', 'folder of the state of kubelet-ts')
        .default(defaultRootDir)
        .env('KUBELET_TS_ROOT_DIR'),
    )
    .option('--container-runtime-endpoint <endpoint>', 'CRI socket, such as unix:///run/containerd/containerd.sock');
}
