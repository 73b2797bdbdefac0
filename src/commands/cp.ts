import type { Command } from 'commander';
import type { CommandDeps } from './io/deps.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { PodFlags } from './pod/open-pod.ts';

interface CpFlags extends PodFlags {
  container?: string;
}

export function register(program: Command, deps: CommandDeps): void {
  addRuntimeOptions(program.command('cp'))
    .description('Copy files and folders into a container or out of it')
    .usage('[options] POD:PATH PATH | PATH POD:PATH')
    .argument('<from>', 'file or folder; PATH/. for the content of a folder')
    .argument('<to>', 'new name, or an existing folder to copy into')
    .option('-c, --container <name>', 'container (default: the default container of the pod)')
    .option('-n, --namespace <namespace>', 'namespace of the pod (default: all are searched)')
    .addHelpText('after', examples)
    .action((from: string, to: string, flags: CpFlags) => cp(deps, from, to, flags));
}

const examples = `
Examples:
  kubelet-ts cp web:/etc/nginx ./nginx          a folder out of pod web
  kubelet-ts cp ./site/. web:/srv/www -c app    the content of a folder into it

The container needs tar. Permissions and links are kept, owners are not. Links are never followed.`;

async function cp(deps: CommandDeps, from: string, to: string, flags: CpFlags): Promise<void> {
  const [{ withPod }, { runningContainer }, { parseEndpoints }, { CopyReport }, { systemClock }] = await Promise.all([
    import('./pod/open-pod.ts'),
    import('./pod/running-container.ts'),
    import('./copy/parse-endpoints.ts'),
    import('./copy/copy-report.ts'),
    import('../clock.ts'),
  ]);
  const { copy } = await import('./copy/copy.ts');
  const request = parseEndpoints(from, to);
  await withPod(deps, request.pod, flags, async (opened) => {
    const container = { runtime: opened.runtime, ...runningContainer(deps, opened, flags.container) };
    const report = new CopyReport({ stderr: deps.stderr, clock: systemClock });
    try {
      await copy(container, request, report);
    } finally {
      report.end();
    }
  });
}
