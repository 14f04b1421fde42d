function _reactor_completion
    # fish completes --option=value as a whole.
    set -l option (string match -r -- '^--[^=]+=' (commandline -ct))
    set -l response (env COMP_WORDS=(commandline -cp | string collect) COMP_CWORD=(commandline -ct) \
        _REACTOR_COMPLETE=fish_complete reactor)
    for offer in $response
        set -l parts (string split -m 1 , -- $offer)
        switch $parts[1]
            case dir
                __fish_complete_directories $parts[2] | string replace -r -- '^' "$option"
            case file
                __fish_complete_path $parts[2] | string replace -r -- '^' "$option"
            case plain
                echo -- "$option$parts[2]"
        end
    end
end

complete --no-files --command reactor --arguments '(_reactor_completion)'
