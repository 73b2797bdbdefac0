import { type Command, Option } from 'commander';
import { type Theme, themeOfVariable, themes } from '../../tui/theme.ts';

export type { Theme };

/** The flag of every command with a screen. */
export function addThemeOption(command: Command): Command {
  const description = 'colours of the screen; auto detects the background';
  return command.addOption(new Option('--theme <theme>', description).choices(themes).default('auto'));
}

/** The initial theme: from the flag, or from the terminal's variable. */
export function chosenTheme(theme: Theme): Theme {
  return theme === 'auto' ? (themeOfVariable(process.env['COLORFGBG']) ?? 'auto') : theme;
}
