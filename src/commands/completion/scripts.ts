/**
 * Completion scripts. Each asks the hidden command `__complete` for candidates, one per line, with a description after
 * a tab. Its last argument is the word under the cursor. Without candidates the shell completes files.
 */
export const completionScripts: Readonly<Record<'bash' | 'zsh' | 'fish', string>> = {
  bash: `# bash completion of kubelet-ts
_kubelet_ts() {
  local IFS=$'\\n'
  COMPREPLY=($("\${COMP_WORDS[0]}" __complete "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
  [[ $COMPREPLY == *= ]] && compopt -o nospace
}
complete -o default -F _kubelet_ts kubelet-ts
`,
  // A package puts the file into fpath. Then zsh runs it as a function when the first word is completed.
  zsh: `#compdef kubelet-ts
_kubelet_ts() {
  local -a candidates
  local line
  while IFS= read -r line; do
    candidates+=("\${\${line//:/\\\\:}/$'\\t'/:}")
  done < <(\${~words[1]} __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)
  if (( \${#candidates} )); then
    _describe kubelet-ts candidates
  else
    compset -P '--*='
    _files
  fi
}
if (( \${+compstate} )); then
  _kubelet_ts
else
  compdef _kubelet_ts kubelet-ts
fi
`,
  fish: `# fish completion of kubelet-ts
function __kubelet_ts_complete
  set -l words (commandline -opc) (commandline -ct)
  set -g __kubelet_ts_candidates ($words[1] __complete $words[2..] 2>/dev/null)
  set -q __kubelet_ts_candidates[1]
end
complete -c kubelet-ts -n __kubelet_ts_complete --no-files -a '$__kubelet_ts_candidates'
`,
};
