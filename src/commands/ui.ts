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
    .description('Show the screen of a running kubelet-ts')
    .option('--read-only', 'disable keys and commands that change pods')
    .option('--line-mode', 'print plain lines, for a screen reader or TERM=dumb')
    .addHelpText('after', examples)
    .action(async (flags: UIFlags) => {
      const { showUI } = await import('./run/show-ui.ts');
      await showUI(flags);
    });
}

const examples = `
Examples:
  kubelet-ts ui                       shows the screen of this machine
  kubelet-ts ui --read-only           shows it without the keys that change pods
  ssh -t edge1 sudo kubelet-ts ui     shows the screen of another machine`;
