import { type Command, Argument } from 'commander';
import type { CommandDeps } from './io/deps.ts';

export function register(program: Command, deps: CommandDeps): void {
  program
    .command('completion')
    .description('Print a shell completion script')
    .addArgument(new Argument('<shell>', 'name of the shell').choices(['bash', 'zsh', 'fish']))
    .addHelpText('after', examples)
    .action(async (shell: 'bash' | 'zsh' | 'fish') => {
      const { completionScripts } = await import('./completion/scripts.ts');
      deps.stdout.write(completionScripts[shell]);
    });
}

const examples = `
Completes commands, flags, and the names of pods and containers.

Examples:
  source <(kubelet-ts completion bash)      in ~/.bashrc
  source <(kubelet-ts completion zsh)       in ~/.zshrc, after compinit
  kubelet-ts completion fish > ~/.config/fish/completions/kubelet-ts.fish`;
