import type { Command } from 'commander';
import { addThemeOption, type Theme } from './run/theme-option.ts';
import { addRuntimeOptions } from '../node/options/flags.ts';
import type { CommandDeps } from './io/deps.ts';

interface UIFlags {
  rootDir: string;
  containerRuntimeEndpoint?: string;
  readOnly?: true;
  lineMode?: true;
  theme: Theme;
}

export function register(program: Command, _deps: CommandDeps): void {
  addThemeOption(addRuntimeOptions(program.command('ui')))
    .description('Show the screen of a running kubelet-ts. Leaving it stops nothing')
    .option('--read-only', 'let no key change a pod')
    .option('--line-mode', 'plain lines for a screen reader, as with TERM=dumb')
    .addHelpText('after', examples)
    .action(async (flags: UIFlags) => {
      const { showUI } = await import('./run/show-ui.ts');
      await showUI(flags);
    });
}

const examples = `
Examples:
  kubelet-ts ui                       shows the screen of this machine
  kubelet-ts ui --read-only           only looks
  ssh -t edge1 sudo kubelet-ts ui     shows the screen of another machine`;
